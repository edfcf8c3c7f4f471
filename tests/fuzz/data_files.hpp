// SPDX-License-Identifier: Apache-2.0
// What fuzz_files does with files of data: tables, vocabularies, images. Each returns false where a file is read wrongly.
#pragma once

#include "tessera/io/build_vocabulary.hpp"
#include "tessera/io/cifar.hpp"
#include "tessera/io/csv.hpp"
#include "tessera/io/idx.hpp"
#include "tessera/io/text.hpp"

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace fuzz_data {

namespace io = tessera::io;

inline const std::vector<std::string>& tables() {
    static const std::vector<std::string> all{"length,kind,name\n1.5,2,\"a, b\"\n-3e2,0,\"say \"\"x\"\"\"\n0.25,1,c\n",
                                              "a,b\r\n1,2\r\n\"3\r\n\",4\r\n", "\xef\xbb\xbfx\n1\n2\n64\n"};
    return all;
}

inline bool read_table(const std::string& text) {
    const io::csv_table t(text, "table");
    std::string again;
    const auto add = [&](const std::string& field, bool last) {
        again += '"';
        for (const char c : field) again += c == '"' ? "\"\"" : std::string(1, c);
        again += last ? "\"\r\n" : "\",";
    };
    const std::size_t columns = t.columns().size();
    for (std::size_t c = 0; c < columns; ++c) add(t.columns()[c], c + 1 == columns);
    for (std::int64_t r = 0; r < t.rows(); ++r)
        for (std::size_t c = 0; c < columns; ++c) add(t.text(r, c), c + 1 == columns);
    const io::csv_table back(again, "table");
    bool same = back.columns() == t.columns() && back.rows() == t.rows();
    for (std::int64_t r = 0; same && r < t.rows(); ++r)
        for (std::size_t c = 0; c < columns; ++c) same = same && t.text(r, c) == back.text(r, c);
    for (std::size_t c = 0; same && c < columns; ++c) { // a column that holds no numbers is refused
        try {
            same = t.numbers(t.columns()[c]).size() == static_cast<std::size_t>(t.rows());
            same = same && t.integers(t.columns()[c]) == back.integers(t.columns()[c]);
        } catch (const tessera::error&) {
            continue;
        }
    }
    return same;
}

inline std::vector<std::string> vocabularies() {
    return {io::build_vocabulary("the cat sat on the mat,\n the cat \\ sat\t\xc3\xa4.", 40).to_text(),
            io::vocabulary({"a", "b", "ab"}).to_text()};
}

inline bool read_vocabulary(const std::string& text) {
    const io::vocabulary v = io::vocabulary_from_text(text, "vocabulary");
    if (!(io::vocabulary_from_text(v.to_text(), "vocabulary") == v)) return false;
    const std::string some = v.text_of(0) + v.text_of(v.size() - 1) + v.text_of(v.size() / 2);
    try { // the longest token may leave a rest that none begins
        return v.decode(v.encode(some)) == some;
    } catch (const tessera::error&) {
        return true;
    }
}

inline const std::string& path() {
    static const std::string path = "fuzz_files.data." + std::to_string(::getpid());
    return path;
}

inline void put(const std::string& text) {
    std::ofstream(path(), std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

/// IDX: a head of eight bytes, five labels.
inline std::vector<std::string> labels() { return {std::string("\0\0\x08\x01\0\0\0\x05\1\2\3\4\5", 13)}; }

inline bool read_labels(const std::string& text) {
    put(text);
    const io::idx_array a = io::read_idx(path(), 1);
    return static_cast<std::int64_t>(a.elements.size()) == a.extents[0] && text.size() == a.elements.size() + 8;
}

inline std::vector<std::string> pictures() {
    std::string rows;
    for (int r = 0; r < 2; ++r) {
        rows += static_cast<char>(r + 1);
        for (int i = 0; i < 3072; ++i) rows += static_cast<char>(i * (r + 3));
    }
    return {rows, rows.substr(0, 3073)};
}

inline bool read_pictures(const std::string& text) {
    put(text);
    const io::cifar_rows rows = io::read_cifar(path(), io::cifar10_format());
    std::string again;
    for (std::size_t r = 0; r < rows.labels.size(); ++r) {
        if (rows.labels[r] < 0 || rows.labels[r] > 9) return false;
        again += static_cast<char>(rows.labels[r]);
        again.append(rows.pixels.begin() + static_cast<std::ptrdiff_t>(r * 3072),
                     rows.pixels.begin() + static_cast<std::ptrdiff_t>((r + 1) * 3072));
    }
    return again == text;
}

} // namespace fuzz_data
