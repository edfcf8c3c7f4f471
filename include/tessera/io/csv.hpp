// SPDX-License-Identifier: Apache-2.0
// Tables as comma-separated values (RFC 4180): fields in quotes may hold separators, line ends and, doubled, quotes; lines end with LF or CRLF. Every
// line has as many fields as the first.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/finite.hpp"
#include "tessera/io/batches.hpp"
#include "tessera/io/byte_source.hpp"

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
    csv_table(std::string_view text, std::string name, const csv_options& options = {})
        : name_{std::move(name)}, text_{text} {
        if (options.separator == '"' || options.separator == '\n' || options.separator == '\r')
            throw error("a CSV table is not separated by quotes or line ends; name another separator");
        if (text.substr(0, 3) == "\xef\xbb\xbf") at_ = 3; // a byte order mark of UTF-8, as spreadsheets write it
        std::vector<std::string> fields;
        while (at_ < text_.size()) {
            const std::size_t line = line_;
            read_line(options.separator, fields);
            if (names_.empty()) {
                take_names(fields, options.header);
                if (options.header) continue;
            }
            if (fields.size() != names_.size())
                refuse(line, "has " + std::to_string(fields.size()) + " fields and the first line " +
                                 std::to_string(names_.size()));
            for (std::string& f : fields) fields_.push_back(std::move(f));
            lines_.push_back(line);
        }
        text_ = {};
        if (lines_.empty()) throw error("'" + name_ + "' has no lines of data; give at least one");
    }

    [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(lines_.size()); }
    [[nodiscard]] const std::vector<std::string>& columns() const { return names_; }
    /// The text of a field; the row must be below rows(), and the column is what column() says.
    [[nodiscard]] const std::string& text(std::int64_t row, std::size_t column) const {
        return fields_[static_cast<std::size_t>(row) * names_.size() + column];
    }
    /// The number of the column of that name. Throws tessera::error, which lists the names, where there is none.
    [[nodiscard]] std::size_t column(std::string_view name) const {
        for (std::size_t i = 0; i < names_.size(); ++i)
            if (names_[i] == name) return i;
        std::string known;
        for (const std::string& n : names_) {
            known += known.empty() ? "" : ", ";
            known += n;
        }
        throw error("'" + name_ + "' has no column '" + std::string(name) + "'; it has " + known);
    }
    /// A column as numbers, each finite.
    [[nodiscard]] std::vector<float> numbers(std::string_view name) const {
        return convert<float>(column(name), "a number", [](float x) { return is_finite(x); });
    }
    /// A column as whole numbers of 32 bits.
    [[nodiscard]] std::vector<std::int32_t> integers(std::string_view name) const {
        return convert<std::int32_t>(column(name), "a whole number of 32 bits", [](std::int32_t) { return true; });
    }

    /// Samples with the named columns as inputs, [rows, inputs], and one as their label, 0 to classes-1.
    [[nodiscard]] sample_set samples(const std::vector<std::string>& inputs, std::string_view label,
                                     std::int32_t classes) const {
        if (inputs.empty()) throw error("samples of '" + name_ + "' need at least one input; name its columns");
        std::vector<float> all(static_cast<std::size_t>(rows()) * inputs.size());
        for (std::size_t k = 0; k < inputs.size(); ++k) {
            const std::vector<float> values = numbers(inputs[k]);
            for (std::size_t r = 0; r < values.size(); ++r) all[r * inputs.size() + k] = values[r];
        }
        const std::string wanted = "a label from 0 to " + std::to_string(classes - 1);
        return {std::move(all),
                convert<std::int32_t>(column(label), wanted, [&](std::int32_t x) { return x >= 0 && x < classes; })};
    }

private:
    [[noreturn]] void refuse(std::size_t line, const std::string& what) const {
        throw error("'" + name_ + "' line " + std::to_string(line) + " " + what + "; correct the line");
    }

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
    static std::string shown(const std::string& field) {
        std::string text;
        for (const char c : field.substr(0, 40)) text += c >= ' ' && c <= '~' ? c : '?';
        return text + (field.size() > 40 ? "..." : "");
    }

    void take_names(const std::vector<std::string>& fields, bool header) {
        std::map<std::string_view, int> seen;
        for (std::size_t i = 0; i < fields.size(); ++i) names_.push_back(header ? fields[i] : std::to_string(i));
        for (const std::string& n : names_)
            if (++seen[n] > 1) refuse(1, "names the column '" + shown(n) + "' twice");
    }

    /// One line of the file, of as many lines of text as its quotes hold.
    void read_line(char separator, std::vector<std::string>& fields) {
        fields.clear();
        for (;;) {
            fields.push_back(read_field(separator));
            if (at_ < text_.size() && text_[at_] == separator) {
                ++at_;
                continue;
            }
            if (at_ < text_.size()) { // at a line end
                at_ += text_[at_] == '\r' ? 2 : 1;
                ++line_;
            }
            return;
        }
    }
    std::string read_field(char separator) {
        std::string field;
        if (at_ < text_.size() && text_[at_] == '"') {
            const std::size_t first = line_;
            for (++at_;; ++at_) {
                if (at_ >= text_.size()) refuse(first, "has a quote that does not end");
                if (text_[at_] == '"' && (++at_ >= text_.size() || text_[at_] != '"')) break;
                if (text_[at_] == '\n') ++line_;
                field += text_[at_];
            }
            if (at_ < text_.size() && text_[at_] != separator && !at_line_end())
                refuse(line_, "goes on after the quotes of a field");
            return field;
        }
        while (at_ < text_.size() && text_[at_] != separator && !at_line_end()) {
            if (text_[at_] == '"') refuse(line_, "has a quote inside a field that does not begin with one");
            field += text_[at_++];
        }
        return field;
    }
    bool at_line_end() const {
        if (text_[at_] != '\r') return text_[at_] == '\n';
        if (at_ + 1 >= text_.size() || text_[at_ + 1] != '\n')
            refuse(line_, "has a carriage return without a line end");
        return true;
    }

    std::string name_;
    std::string_view text_; // while it is read
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    std::vector<std::string> names_;
    std::vector<std::string> fields_;
    std::vector<std::size_t> lines_; // of each row, from 1
};

/// Reads a file, plain or compressed by gzip, of at most 1 GiB. Throws tessera::error.
inline csv_table read_csv(const std::string& path, const csv_options& options = {}) {
    return {detail::read_whole(path, "name a CSV file"), path, options};
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
