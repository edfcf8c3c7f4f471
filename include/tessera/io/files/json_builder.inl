// SPDX-License-Identifier: Apache-2.0
// Bodies of json_builder.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/json_builder.hpp"

namespace tessera::io {

TESSERA_INLINE std::string text_of_json(const json& j, int indent) {
    return quoted::json_controls(j.dump(indent, ' ', false, json::error_handler_t::replace));
}

} // namespace tessera::io

namespace tessera::io::detail {

TESSERA_INLINE json object_of(std::deque<std::string>&& names, std::vector<json>&& values) {
    json made = json::object();
    auto& members = static_cast<json::object_t::Container&>(made.get_ref<json::object_t&>());
    members.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        members.emplace_back(std::move(names[i]), std::move(values[i]));
    }
    return made;
}

TESSERA_INLINE bool json_builder::key(std::string& name) {
    frame& f = open_.back();
    const std::string& kept = f.keys.emplace_back(std::move(name));
    if (!f.names.insert(kept).second) {
        refuse(at, "the name \"" + quoted::shown(kept) + "\" comes twice");
    }
    return true;
}

TESSERA_INLINE bool json_builder::parse_error(std::size_t position, const std::string&,
                                              const nlohmann::detail::exception& e) {
    std::string what = e.what(); // "[json.exception.parse_error.101] parse error at line 1, column 1: ..."
    const std::size_t colon = what.find(": ");
    const std::size_t bracket = what.find("] ");
    const std::size_t from = colon != std::string::npos ? colon + 2 : bracket != std::string::npos ? bracket + 2 : 0;
    refuse(position > 0 ? position - 1 : 0, what.substr(from));
}

TESSERA_INLINE void json_builder::refuse(std::size_t place, const std::string& what) const {
    place = std::min(place, text_.size());
    const std::string_view before = text_.substr(0, place);
    const std::size_t column = place - (before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1);
    throw error("tessera: " + called_ + ", line " + std::to_string(1 + std::count(before.begin(), before.end(), '\n')) +
                ", column " + std::to_string(column + 1) + ": " + what);
}

TESSERA_INLINE void json_builder::note_line() {
    const std::size_t upto = std::min(at, text_.size());
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(upto), '\n'));
    counted_ = upto;
    lines.push_back(line_);
}

TESSERA_INLINE void json_builder::place(json&& value) {
    if (open_.empty()) {
        root = std::move(value);
    } else {
        open_.back().values.push_back(std::move(value));
    }
}

TESSERA_INLINE bool json_builder::open(json&& empty) {
    if (open_.size() >= deepest) {
        refuse(at, "values lie within each other more than 100 deep");
    }
    note_line();
    open_.emplace_back().made = std::move(empty);
    return true;
}

TESSERA_INLINE bool json_builder::close() {
    frame f = std::move(open_.back());
    open_.pop_back();
    if (f.made.is_array()) {
        f.made.get_ref<json::array_t&>() = std::move(f.values);
    } else {
        f.made = object_of(std::move(f.keys), std::move(f.values));
    }
    place(std::move(f.made));
    return true;
}

TESSERA_INLINE counted_text& counted_text::operator++() {
    ++here;
    ++*taken;
    return *this;
}

TESSERA_INLINE counted_text counted_text::operator++(int) {
    counted_text old = *this;
    ++*this;
    return old;
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
