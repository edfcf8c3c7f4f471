// SPDX-License-Identifier: Apache-2.0
// Bodies of json.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/json.hpp"

namespace tessera::io::detail {

TESSERA_INLINE const char* type_of(const json& j) {
    return j.is_null()      ? "null"
           : j.is_boolean() ? "true or false"
           : j.is_string()  ? "a text"
           : j.is_array()   ? "an array"
           : j.is_object()  ? "an object"
                            : "a number";
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE json_document::json_document(std::string_view text, std::string called) : called_(std::move(called)) {
    detail::json_builder builder(text, called_);
    const detail::counted_text first{text.data(), &builder.at};
    json::sax_parse(first, detail::counted_text{text.data() + text.size(), &builder.at}, &builder);
    root_ = std::move(builder.root);
    std::size_t next = 0;
    number(root_, builder.lines, next);
    std::sort(lines_.begin(), lines_.end());
}

TESSERA_INLINE int json_document::line_of(const json& value) const {
    const auto found = std::lower_bound(lines_.begin(), lines_.end(), std::pair<const json*, int>(&value, 0));
    return found != lines_.end() && found->first == &value ? found->second : 1;
}

TESSERA_INLINE std::string json_document::path_of(const json& value) const {
    std::string path;
    (void)leads_to(root_, &value, path);
    return path;
}

TESSERA_INLINE bool json_document::leads_to(const json& from, const json* value, std::string& path) {
    if (&from == value) {
        return true;
    }
    if (!from.is_structured()) {
        return false;
    }
    const std::size_t before = path.size();
    std::size_t place = 0;
    for (auto inside = from.begin(); inside != from.end(); ++inside, ++place) {
        path += '/';
        path += from.is_object() ? quoted::shown(inside.key()) : std::to_string(place);
        if (leads_to(*inside, value, path)) {
            return true;
        }
        path.resize(before);
    }
    return false;
}

TESSERA_INLINE void json_document::number(const json& j, const std::vector<int>& lines, std::size_t& next) {
    lines_.emplace_back(&j, next < lines.size() ? lines[next] : 1);
    ++next;
    if (j.is_structured()) { // the library lets one iterate over a plain value too
        for (const json& inside : j) {
            number(inside, lines, next);
        }
    }
}

TESSERA_INLINE void json_value::refuse(const std::string& what) const {
    const std::string path = of_->path_of(*value_);
    throw error("tessera: " + of_->called() + ", line " + std::to_string(of_->line_of(*value_)) + ": " +
                (path.empty() ? std::string("the file") : path) + " " + what);
}

TESSERA_INLINE std::int64_t json_value::integer(std::int64_t least, std::int64_t most) const {
    const bool fits =
        value_->is_number_integer() &&
        (!value_->is_number_unsigned() || value_->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
    if (!fits || value_->get<std::int64_t>() < least || value_->get<std::int64_t>() > most) {
        refuse("is " + shown() + ", but must be a whole number from " + std::to_string(least) + " to " +
               std::to_string(most));
    }
    return value_->get<std::int64_t>();
}

TESSERA_INLINE const std::string& json_value::text() const {
    need(value_->is_string(), "a text");
    return value_->get_ref<const std::string&>();
}

TESSERA_INLINE bool json_value::boolean() const {
    need(value_->is_boolean(), "true or false");
    return value_->get<bool>();
}

TESSERA_INLINE std::vector<json_value> json_value::items() const {
    need(value_->is_array(), "an array");
    std::vector<json_value> all;
    for (const json& item : *value_) {
        all.emplace_back(*of_, item);
    }
    return all;
}

TESSERA_INLINE std::vector<std::pair<std::string, json_value>> json_value::members() const {
    need(value_->is_object(), "an object");
    std::vector<std::pair<std::string, json_value>> all;
    for (const auto& member : value_->items()) {
        all.emplace_back(member.key(), json_value(*of_, member.value()));
    }
    return all;
}

TESSERA_INLINE double json_value::number() const {
    need(value_->is_number(), "a number");
    return value_->get<double>();
}

TESSERA_INLINE void json_value::need(bool is_it, const char* wanted) const {
    if (!is_it) {
        refuse("is " + shown() + ", but must be " + wanted);
    }
}

TESSERA_INLINE json_object::json_object(const json_value& of)
    : of_(of), members_(of.members()), asked_(members_.size(), 0) {
    for (std::size_t i = 0; members_.size() > few && i < members_.size(); ++i) {
        places_.emplace(members_[i].first, i);
    }
}

TESSERA_INLINE const json_value* json_object::find(std::string_view name) {
    std::size_t i = 0;
    if (members_.size() > few) {
        const auto found = places_.find(name);
        i = found == places_.end() ? members_.size() : found->second;
    } else {
        while (i < members_.size() && members_[i].first != name) {
            ++i;
        }
    }
    if (i == members_.size()) {
        return nullptr;
    }
    asked_[i] = 1;
    return &members_[i].second;
}

TESSERA_INLINE const json_value& json_object::get(const std::string& name) {
    const json_value* found = find(name);
    if (found == nullptr) {
        of_.refuse("has no \"" + name + "\"");
    }
    return *found;
}

TESSERA_INLINE void json_object::finish() const {
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (asked_[i] == 0) {
            members_[i].second.refuse("means nothing here; remove or correct it");
        }
    }
}

TESSERA_INLINE void json_object::version(const std::string& name, std::int64_t known) {
    const std::int64_t found = get(name).integer(0, INT64_MAX);
    if (found != known) {
        get(name).refuse("is version " + std::to_string(found) + ", but this reads version " + std::to_string(known));
    }
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
