// SPDX-License-Identifier: Apache-2.0
// Bodies of text.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/text.hpp"

namespace tessera::torch {

TESSERA_INLINE std::string text_of(double x) {
    char to[40];
    const auto end = std::to_chars(to, to + sizeof to, x).ptr;
    const std::string text(to, end);
    return text == "inf" || text == "-inf" || text == "nan" ? "float(\"" + text + "\")"
           : text.find_first_of(".e") == std::string::npos  ? text + ".0"
                                                            : text;
}

TESSERA_INLINE std::string joined(std::initializer_list<std::string_view> texts) {
    std::string all;
    for (const std::string_view text : texts) {
        all += text;
    }
    return all;
}

TESSERA_INLINE std::string text_of(const box& b) {
    return tuple_of(b.rank, [&](int d) {
        return "(" + std::to_string(b.dim[d].begin) + ", " + std::to_string(b.dim[d].end) + ")";
    });
}

TESSERA_INLINE std::string text_of(const shape& s) {
    return tuple_of(s.rank, [&](int d) { return std::to_string(s[d]); });
}

TESSERA_INLINE const std::set<std::string>& python_words() {
    static const std::set<std::string> all{
        "False", "None",  "True",   "and",      "as",     "assert",  "async", "await", "break",  "class", "continue",
        "def",   "del",   "elif",   "else",     "except", "finally", "for",   "from",  "global", "if",    "import",
        "in",    "is",    "lambda", "nonlocal", "not",    "or",      "pass",  "raise", "return", "try",   "while",
        "with",  "yield", "r",      "rt",       "torch",  "F",       "max",   "min"};
    return all;
}

TESSERA_INLINE std::string numbered(const std::string& name, int number) {
    return number == 0 ? name : derived(name, std::to_string(number));
}

} // namespace tessera::torch

#include "tessera/base/end_header.inl"
