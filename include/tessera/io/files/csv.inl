// SPDX-License-Identifier: Apache-2.0
// Bodies of csv.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/csv.hpp"

namespace tessera::io {

TESSERA_INLINE csv_table::csv_table(std::string_view text, std::string name, const csv_options& options)
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

TESSERA_INLINE const std::string& csv_table::text(std::int64_t row, std::size_t column) const {
    return fields_[to_size(row) * names_.size() + column];
}

TESSERA_INLINE std::size_t csv_table::column(std::string_view name) const {
    for (std::size_t i = 0; i < names_.size(); ++i)
        if (names_[i] == name) return i;
    std::string known;
    for (const std::string& n : names_) {
        known += known.empty() ? "" : ", ";
        known += n;
    }
    throw error("'" + name_ + "' has no column '" + std::string(name) + "'; it has " + known);
}

TESSERA_INLINE std::vector<float> csv_table::numbers(std::string_view name) const {
    return convert<float>(column(name), "a number", [](float x) { return is_finite(x); });
}

TESSERA_INLINE std::vector<std::int32_t> csv_table::integers(std::string_view name) const {
    return convert<std::int32_t>(column(name), "a whole number of 32 bits", [](std::int32_t) { return true; });
}

TESSERA_INLINE sample_set csv_table::samples(const std::vector<std::string>& inputs, std::string_view label,
                                             std::int32_t classes) const {
    if (inputs.empty()) throw error("samples of '" + name_ + "' need at least one input; name its columns");
    std::vector<float> all(to_size(rows()) * inputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) {
        const std::vector<float> values = numbers(inputs[k]);
        for (std::size_t r = 0; r < values.size(); ++r) all[r * inputs.size() + k] = values[r];
    }
    const std::string wanted = "a label from 0 to " + std::to_string(classes - 1);
    return {std::move(all),
            convert<std::int32_t>(column(label), wanted, [&](std::int32_t x) { return x >= 0 && x < classes; })};
}

TESSERA_INLINE void csv_table::refuse(std::size_t line, const std::string& what) const {
    throw error("'" + name_ + "' line " + std::to_string(line) + " " + what + "; correct the line");
}

TESSERA_INLINE std::string csv_table::shown(const std::string& field) {
    std::string text;
    for (const char c : field.substr(0, 40)) text += c >= ' ' && c <= '~' ? c : '?';
    return text + (field.size() > 40 ? "..." : "");
}

TESSERA_INLINE void csv_table::take_names(const std::vector<std::string>& fields, bool header) {
    std::map<std::string_view, int> seen;
    for (std::size_t i = 0; i < fields.size(); ++i) names_.push_back(header ? fields[i] : std::to_string(i));
    for (const std::string& n : names_)
        if (++seen[n] > 1) refuse(1, "names the column '" + shown(n) + "' twice");
}

TESSERA_INLINE void csv_table::read_line(char separator, std::vector<std::string>& fields) {
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

TESSERA_INLINE std::string csv_table::read_field(char separator) {
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

TESSERA_INLINE bool csv_table::at_line_end() const {
    if (text_[at_] != '\r') return text_[at_] == '\n';
    if (at_ + 1 >= text_.size() || text_[at_ + 1] != '\n') refuse(line_, "has a carriage return without a line end");
    return true;
}

TESSERA_INLINE csv_table read_csv(const std::string& path, const csv_options& options) {
    return {detail::read_whole(path, "name a CSV file"), path, options};
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
