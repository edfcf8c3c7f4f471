// SPDX-License-Identifier: Apache-2.0
// Builds values from the events of the JSON library's parser: names may not come twice, depth is bounded, and lines are noted.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::io {

/// A JSON value whose objects keep the order of their members.
using json = nlohmann::ordered_json;

namespace detail {

/// Builds a value from the library's parser, noting in which line every value begins (or ends, for those that lie on one).
class json_builder : public nlohmann::json_sax<json> {
public:
    json_builder(std::string_view text, std::string called) : text_(text), called_(std::move(called)) {}

    bool null() override { return add(nullptr); }
    bool boolean(bool b) override { return add(b); }
    bool number_integer(std::int64_t i) override { return add(i); }
    bool number_unsigned(std::uint64_t i) override { return add(i); }
    bool number_float(double d, const std::string&) override { return add(d); }
    bool string(std::string& s) override { return add(std::move(s)); }
    bool binary(json::binary_t&) override { return false; } // no part of JSON texts
    bool start_object(std::size_t) override { return open(json::object()); }
    bool start_array(std::size_t) override { return open(json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(std::string& name) override {
        if (!names_.back().insert(name).second) {
            refuse(at, "the name \"" + name + "\" comes twice");
        }
        key_ = std::move(name);
        return true;
    }
    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
        std::string what = e.what(); // "[json.exception.parse_error.101] parse error at line 1, column 1: ..."
        const std::size_t colon = what.find(": ");
        const std::size_t bracket = what.find("] ");
        const std::size_t from = colon != std::string::npos     ? colon + 2
                                 : bracket != std::string::npos ? bracket + 2
                                                                : 0;
        refuse(position > 0 ? position - 1 : 0, what.substr(from));
    }

    std::size_t at = 0; ///< characters that the parser has taken
    json root;
    std::vector<int> lines; ///< of all values, each before those inside it

private:
    static constexpr std::size_t deepest = 100;

    [[noreturn]] void refuse(std::size_t place, const std::string& what) const {
        place = std::min(place, text_.size());
        const std::string_view before = text_.substr(0, place);
        const std::size_t column = place - (before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1);
        throw error("tessera: " + called_ + ", line " +
                    std::to_string(1 + std::count(before.begin(), before.end(), '\n')) + ", column " +
                    std::to_string(column + 1) + ": " + what);
    }
    json* place(json&& value) {
        const std::size_t upto = std::min(at, text_.size());
        line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_),
                                             text_.begin() + static_cast<std::ptrdiff_t>(upto), '\n'));
        counted_ = upto;
        lines.push_back(line_);
        if (open_.empty()) {
            root = std::move(value);
            return &root;
        }
        json& parent = *open_.back();
        if (parent.is_array()) {
            parent.push_back(std::move(value));
            return &parent.back();
        }
        return &parent.emplace(key_, std::move(value)).first.value();
    }
    template <class T>
    bool add(T&& value) {
        place(json(std::forward<T>(value)));
        return true;
    }
    bool open(json&& empty) {
        if (open_.size() >= deepest) {
            refuse(at, "values lie within each other more than 100 deep");
        }
        // What is open is the last value of what it lies in, which does not grow meanwhile: the pointer stays good.
        open_.push_back(place(std::move(empty)));
        names_.emplace_back();
        return true;
    }
    bool close() {
        open_.pop_back();
        names_.pop_back();
        return true;
    }

    std::string_view text_;
    std::string called_;
    std::vector<json*> open_;
    std::vector<std::set<std::string>> names_; ///< of what is open
    std::string key_;
    int line_ = 1;
    std::size_t counted_ = 0;
};

/// Reads a text and says how far it has come.
struct counted_text {
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;
    const char* here = nullptr;
    std::size_t* taken = nullptr;

    const char& operator*() const { return *here; }
    counted_text& operator++() {
        ++here;
        ++*taken;
        return *this;
    }
    counted_text operator++(int) {
        counted_text old = *this;
        ++*this;
        return old;
    }
    friend bool operator==(const counted_text& a, const counted_text& b) { return a.here == b.here; }
};

} // namespace detail

} // namespace tessera::io

#include "tessera/base/end_header.inl"
