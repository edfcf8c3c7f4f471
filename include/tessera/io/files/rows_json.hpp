// SPDX-License-Identifier: Apache-2.0
// Rows of described values as JSON: an array of objects, in which fields that are described values are objects
// themselves.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/finite.hpp"
#include "tessera/io/data/rows.hpp"
#include "tessera/io/files/json_text.hpp"

#include <cmath>

namespace tessera::io {

namespace detail {

template <class T>
json json_of_field(const T& value) {
    if constexpr (Described<T>) {
        json j = json::object();
        T::each_field(
            [&](const char* name, auto member, const field_facts&) { j[name] = json_of_field(value.*member); });
        return j;
    } else if constexpr (std::is_floating_point_v<T>) {
        return is_finite(value) ? json(value) : json(text_of_field(value)); // JSON has no infinite numbers
    } else if constexpr (std::is_enum_v<T>) {
        return to_text(value);
    } else {
        return value;
    }
}

template <class T>
void read_json_field(const json_value& v, T& value) {
    if constexpr (Described<T>) {
        json_object o(v);
        T::each_field(
            [&](const char* name, auto member, const field_facts&) { read_json_field(o.get(name), value.*member); });
        o.finish();
    } else if constexpr (std::is_same_v<T, bool>) {
        value = v.boolean();
    } else if constexpr (std::is_integral_v<T>) {
        value = static_cast<T>(v.integer(static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                                         static_cast<std::int64_t>(std::numeric_limits<T>::max())));
    } else if constexpr (std::is_floating_point_v<T>) {
        if (v.is_number()) {
            value = static_cast<T>(v.number());
        } else if (!read_field(v.text(), value) || is_finite(value)) {
            v.refuse("is \"" + v.text() + "\", but must be a number, or \"inf\", \"-inf\" or \"nan\"");
        }
    } else if (!read_field(v.text(), value)) {
        v.refuse("is \"" + v.text() + "\", which is none of its values");
    }
}

} // namespace detail

template <Described Row>
std::string to_json(const std::vector<Row>& rows) {
    json all = json::array();
    for (const Row& row : rows) {
        all.push_back(detail::json_of_field(row));
    }
    std::string text;
    detail::write_json(text, all, 0);
    return text + "\n";
}

/// Writes rows to a file, whole or not at all. Throws tessera::error where it cannot be written.
template <Described Row>
void write_json(const std::string& path, const std::vector<Row>& rows) {
    write_file_atomically(path, to_json(rows));
}

/// The rows that to_json() has written. Throws tessera::error, naming line and place, for what is none.
template <Described Row>
std::vector<Row> rows_of(const json_document& document) {
    std::vector<Row> rows;
    for (const json_value& item : document.root().items()) {
        detail::read_json_field(item, rows.emplace_back());
    }
    return rows;
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
