// SPDX-License-Identifier: Apache-2.0
// Python as text: numbers, regions and names that are free.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/base/free_names.hpp"
#include "tessera/base/quoted.hpp"

#include <charconv>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

namespace tessera::torch {

/// The shortest text that is this number again; infinities as Python has them.
inline std::string text_of(double x) {
    char to[40];
    const auto end = std::to_chars(to, to + sizeof to, x).ptr;
    const std::string text(to, end);
    return text == "inf" || text == "-inf" || text == "nan" ? "float(\"" + text + "\")"
           : text.find_first_of(".e") == std::string::npos  ? text + ".0"
                                                            : text;
}
inline std::string text_of(index_t n) { return std::to_string(n); }
inline std::string text_of(bool yes) { return yes ? "True" : "False"; }

/// A text as a literal.
inline std::string literal(std::string_view text) { return quoted::python(text); }

/// Texts one behind the other.
inline std::string joined(std::initializer_list<std::string_view> texts) {
    std::string all;
    for (const std::string_view text : texts) {
        all += text;
    }
    return all;
}

/// "(a, b)" and "(a,)" of what each(0) to each(count - 1) say.
template <class Each>
std::string tuple_of(int count, Each each) {
    std::string text = "(";
    for (int i = 0; i < count; ++i) {
        text += (i > 0 ? ", " : "") + each(i);
    }
    return text + (count == 1 ? ",)" : ")");
}

/// ((0, 32), (0, 10)): for every dimension the first index and the one behind the last.
inline std::string text_of(const box& b) {
    return tuple_of(b.rank, [&](int d) {
        return "(" + std::to_string(b.dim[d].begin) + ", " + std::to_string(b.dim[d].end) + ")";
    });
}
inline std::string text_of(const shape& s) {
    return tuple_of(s.rank, [&](int d) { return std::to_string(s[d]); });
}

/// Words of Python, and names that every program has.
inline const std::set<std::string>& python_words() {
    static const std::set<std::string> all{
        "False", "None",  "True",   "and",      "as",     "assert",  "async", "await", "break",  "class", "continue",
        "def",   "del",   "elif",   "else",     "except", "finally", "for",   "from",  "global", "if",    "import",
        "in",    "is",    "lambda", "nonlocal", "not",    "or",      "pass",  "raise", "return", "try",   "while",
        "with",  "yield", "r",      "rt",       "torch",  "F",       "max",   "min"};
    return all;
}

/// What belongs to a name of free_names, for a reason of its own: no other name is equal.
inline std::string derived(std::string_view name, std::string_view of) { return joined({name, "__", of}); }
/// The variable of a rank's shard or tile `number`, of those that share a name.
inline std::string numbered(const std::string& name, int number) {
    return number == 0 ? name : derived(name, std::to_string(number));
}

} // namespace tessera::torch

#include "tessera/base/end_header.inl"
