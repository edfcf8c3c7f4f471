// SPDX-License-Identifier: Apache-2.0
// Builds values from the events of the JSON library's parser: names may not come twice, depth is bounded, and lines are
// noted.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/base/quoted.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::io {

/// A JSON value whose objects keep the order of their members.
using json = nlohmann::ordered_json;

/// The text of a value: on one line, or with so many blanks for each level. All control characters in it are quoted;
/// what is no UTF-8 is U+FFFD there.
std::string text_of_json(const json& j, int indent = -1);

namespace detail {

/// An object of these names, none of which comes twice, and their values. Its time is linear in their number: the
/// library's own insertion looks for each name from the beginning, and copies all that there is where it grows.
json object_of(std::deque<std::string>&& names, std::vector<json>&& values);

/// Builds a value from the library's parser, noting in which line every value begins (or ends, for those that lie on
/// one).
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
    bool key(std::string& name) override;
    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override;

    std::size_t at = 0; ///< characters that the parser has taken
    json root;
    std::vector<int> lines; ///< of all values, each before those inside it

private:
    static constexpr std::size_t deepest = 100;

    [[noreturn]] void refuse(std::size_t place, const std::string& what) const;
    void note_line();
    void place(json&& value);
    template <class T>
    bool add(T&& value) {
        note_line();
        place(json(std::forward<T>(value)));
        return true;
    }
    bool open(json&& empty);
    /// A value is moved once, into what it lies in, whose size is known by then.
    bool close();

    /// An object or an array whose end has not come.
    struct frame {
        json made;
        std::vector<json> values;
        std::deque<std::string> keys; ///< of an object; they stay where they are
        std::set<std::string_view> names;
    };

    std::string_view text_;
    std::string called_;
    std::deque<frame> open_; ///< which stay where they are
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
    counted_text& operator++();
    counted_text operator++(int);
    friend bool operator==(const counted_text& a, const counted_text& b) { return a.here == b.here; }
};

} // namespace detail

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/files/json_builder.inl"
#endif

#include "tessera/base/end_header.inl"
