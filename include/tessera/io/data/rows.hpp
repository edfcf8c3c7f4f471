// SPDX-License-Identifier: Apache-2.0
// Rows of described values as tables: comma-separated values (RFC 4180), which needs nothing, and JSON is in
// rows_json.hpp. What lists its fields once (see strategy/described.hpp), such as operator_timing, can be written and
// read.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/quoted.hpp"
#include "tessera/io/files/csv.hpp"
#include "tessera/io/files/file.hpp"
#include "tessera/strategy/described.hpp"

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tessera::io {

namespace detail {

template <class Field>
inline constexpr bool is_row_field = std::is_same_v<Field, std::string> || std::is_arithmetic_v<Field> ||
                                     (std::is_enum_v<Field> && value_count<Field> > 0);

/// Calls see(name, value) for every field, those of fields that are described values themselves as "forward_median".
template <class Row, class See>
void each_column(Row& row, const std::string& prefix, const See& see) {
    std::remove_const_t<Row>::each_field([&](const char* name, auto member, const field_facts&) {
        auto& value = row.*member;
        using type = std::remove_cvref_t<decltype(value)>;
        if constexpr (Described<type>) {
            each_column(value, prefix + name + "_", see);
        } else {
            static_assert(is_row_field<type>,
                          "tessera: a row of a table holds texts, numbers, enumerations that say how "
                          "many values they have, and described values of these");
            see(prefix + name, value);
        }
    });
}

/// Numbers with as many digits as it takes to read the same number again.
template <class T>
std::string text_of_field(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
        return value;
    } else if constexpr (std::is_enum_v<T>) {
        return to_text(value);
    } else if constexpr (std::is_same_v<T, bool>) {
        return value ? "1" : "0";
    } else {
        char text[64];
        const auto end = std::to_chars(text, text + sizeof text, value).ptr;
        return {text, end};
    }
}

/// False where the text is none of the type's values.
template <class T>
bool read_field(const std::string& text, T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
        value = text;
        return true;
    } else if constexpr (std::is_enum_v<T>) {
        for (int i = 0; i < value_count<T>; ++i) {
            if (text == to_text(static_cast<T>(i))) {
                value = static_cast<T>(i);
                return true;
            }
        }
        return false;
    } else if constexpr (std::is_same_v<T, bool>) {
        value = text == "1";
        return text == "1" || text == "0";
    } else {
        const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
        return code == std::errc{} && end == text.data() + text.size();
    }
}

} // namespace detail

/// Rows as CSV, the names of the fields first. Numbers are written so that reading gives the same number.
template <Described Row>
std::string to_csv(const std::vector<Row>& rows) {
    std::string out;
    bool first = true;
    const Row usual{};
    detail::each_column(usual, "", [&](const std::string& name, const auto&) {
        out += (first ? "" : ",") + quoted::csv(name);
        first = false;
    });
    out += '\n';
    for (const Row& row : rows) {
        first = true;
        detail::each_column(row, "", [&](const std::string&, const auto& value) {
            out += (first ? "" : ",") + quoted::csv(detail::text_of_field(value));
            first = false;
        });
        out += '\n';
    }
    return out;
}

/// Writes rows to a file, whole or not at all. Throws tessera::error where it cannot be written.
template <Described Row>
void write_csv(const std::string& path, const std::vector<Row>& rows) {
    write_file_atomically(path, to_csv(rows));
}

/// The rows of a table that to_csv() has written, or that has columns of these names in any order; others are left
/// alone. Throws tessera::error for a column that is not there and for a field that is none of its type's values.
template <Described Row>
std::vector<Row> rows_of(const csv_table& table) {
    std::vector<Row> rows(to_size(table.rows()));
    for (std::size_t r = 0; r < rows.size(); ++r) {
        detail::each_column(rows[r], "", [&](const std::string& name, auto& value) {
            const std::string& text = table.text(static_cast<std::int64_t>(r), table.column(name));
            if (!detail::read_field(text, value)) {
                std::string words = "row " + std::to_string(r + 1);
                words.append(" of the table has \"").append(text).append("\" in column '").append(name);
                throw error(words.append("', which is none of its values; correct it"));
            }
        });
    }
    return rows;
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
