// SPDX-License-Identifier: Apache-2.0
// Tables as comma-separated values (RFC 4180): fields in quotes may hold separators, line ends and, doubled, quotes;
// lines end with LF or CRLF. Every line has as many fields as the first.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/finite.hpp"
#include "tessera/io/data/batches.hpp"
#include "tessera/io/files/byte_source.hpp"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::io {

struct csv_options {
    char separator = ',';
    bool header = true; ///< the first line has the names of columns; else these are "0", "1", ...
};

/// A table of texts, its columns by name. What a field is refused for is said with file and line.
class csv_table {
public:
    /// `name` stands for the file in messages. Throws tessera::error where the text is no table.
    csv_table(std::string_view text, std::string name, const csv_options& options = {});

    [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(lines_.size()); }
    [[nodiscard]] const std::vector<std::string>& columns() const { return names_; }
    /// The text of a field; the row must be below rows(), and the column is what column() says.
    [[nodiscard]] const std::string& text(std::int64_t row, std::size_t column) const;
    /// The number of the column of that name. Throws tessera::error, which lists the names, where there is none.
    [[nodiscard]] std::size_t column(std::string_view name) const;
    /// A column as numbers, each finite.
    [[nodiscard]] std::vector<float> numbers(std::string_view name) const;
    /// A column as whole numbers of 32 bits.
    [[nodiscard]] std::vector<std::int32_t> integers(std::string_view name) const;

    /// Samples with the named columns as inputs, [rows, inputs], and one as their label, 0 to classes-1.
    [[nodiscard]] sample_set samples(const std::vector<std::string>& inputs, std::string_view label,
                                     std::int32_t classes) const;

private:
    [[noreturn]] void refuse(std::size_t line, const std::string& what) const;

    template <class T, class Fits>
    std::vector<T> convert(std::size_t column, const std::string& wanted, Fits fits) const {
        std::vector<T> values(lines_.size());
        for (std::size_t r = 0; r < lines_.size(); ++r) {
            const std::string& field = fields_[r * names_.size() + column];
            const auto [end, code] = std::from_chars(field.data(), field.data() + field.size(), values[r]);
            if (code != std::errc{} || end != field.data() + field.size() || !fits(values[r]))
                refuse(lines_[r],
                       "has \"" + shown(field) + "\" in column '" + names_[column] + "', which is not " + wanted);
        }
        return values;
    }

    /// The beginning of a field, printable.
    static std::string shown(const std::string& field);

    void take_names(const std::vector<std::string>& fields, bool header);

    /// One line of the file, of as many lines of text as its quotes hold.
    void read_line(char separator, std::vector<std::string>& fields);
    std::string read_field(char separator);
    bool at_line_end() const;

    std::string name_;
    std::string_view text_; // while it is read
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    std::vector<std::string> names_;
    std::vector<std::string> fields_;
    std::vector<std::size_t> lines_; // of each row, from 1
};

/// Reads a file, plain or compressed by gzip, of at most 1 GiB. Throws tessera::error.
csv_table read_csv(const std::string& path, const csv_options& options = {});

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/files/csv.inl"
#endif

#include "tessera/base/end_header.inl"
