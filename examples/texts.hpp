// SPDX-License-Identifier: Apache-2.0
// A text that a Debian machine has, to train language models on.
#pragma once

#include <tessera/io/files/text.hpp>

#include <cstdlib>
#include <string>
#include <vector>

#include <sys/stat.h>

namespace texts {

/// The files of a text that are tried, in this order: those of the package fortunes (all quotations), else the licenses
/// of base-files, which every Debian machine has.
struct source {
    const char* name;
    std::vector<std::string> files;
};
inline std::vector<source> debian() {
    const std::string quotes = "/usr/share/games/fortunes/";
    const std::string licenses = "/usr/share/common-licenses/";
    return {
        {"fortunes, of the package fortunes",
         {quotes + "literature", quotes + "wisdom", quotes + "science", quotes + "people", quotes + "platitudes"}},
        {"licenses, of the package base-files",
         {licenses + "Apache-2.0", licenses + "Artistic", licenses + "GFDL-1.3", licenses + "GPL-1", licenses + "GPL-2",
          licenses + "GPL-3", licenses + "LGPL-2.1", licenses + "LGPL-3", licenses + "MPL-1.1", licenses + "MPL-2.0"}}};
}

struct text {
    std::string name;
    std::string contents;
};

/// The file in the environment variable TESSERA_TEXT; else the first of these whose files are all there, one after the
/// other. Throws tessera::error where there is none.
inline text find(const std::vector<source>& sources = debian()) {
    if (const char* chosen = std::getenv("TESSERA_TEXT"); chosen != nullptr && *chosen != '\0')
        return {chosen, tessera::io::read_text(chosen)};
    for (const source& s : sources) {
        bool all = !s.files.empty();
        struct stat found {};
        for (const std::string& file : s.files) all = all && ::stat(file.c_str(), &found) == 0;
        if (!all) continue;
        text whole{s.name, {}};
        for (const std::string& file : s.files) whole.contents += tessera::io::read_text(file);
        return whole;
    }
    throw tessera::error("there is no text to train on; set TESSERA_TEXT to a text file, or install the Debian package "
                         "fortunes");
}

/// A text in two: what to train with, and every tenth stretch of 2048 bytes, to test with.
struct parts {
    std::string known;
    std::string unseen;
};
inline parts cut(const std::string& contents) {
    constexpr std::size_t stretch = 2048;
    parts two;
    for (std::size_t i = 0; i * stretch < contents.size(); ++i)
        (i % 10 == 9 ? two.unseen : two.known) += contents.substr(i * stretch, stretch);
    return two;
}

} // namespace texts
