// SPDX-License-Identifier: Apache-2.0
// Numbers as text and text as numbers, the same whatever the program's locale is: std::printf, std::strtod,
// std::to_string of a floating-point number and streams write and read "1,5" under de_DE, so that the library uses none
// of them for such numbers (tests/locale_free).
#pragma once
#include "tessera/base/begin_header.inl"

#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <string_view>

#include <clocale>

namespace tessera {

/// With so many digits behind the point, as "%.*f" writes it in the "C" locale.
std::string fixed_text(double x, int digits = 6);

/// With so many digits that count, as "%.*g" writes it.
std::string general_text(double x, int digits);

/// The shortest text that is this number alone.
template <class T>
std::string shortest_text(T x) {
    char text[40];
    return {text, std::to_chars(text, text + sizeof text, x).ptr};
}

/// All of its bits in hexadecimal: "0x1.8p+1", "-inf".
std::string exact_text(double x);

/// Reads a number, decimal or hexadecimal ("0x1.8p+1"), from the beginning of a text; returns how many characters it
/// has, 0 for none and for one that no double is.
std::size_t read_number(std::string_view text, double& to);
/// True where all of the text is a number.
bool is_number_text(std::string_view text, double& to);

namespace detail {

/// While it lives, C's functions work in this thread as in the "C" locale.
class plain_locale {
public:
    plain_locale() : before_(uselocale(plain())) {}
    ~plain_locale() { uselocale(before_); }
    plain_locale(const plain_locale&) = delete;
    plain_locale& operator=(const plain_locale&) = delete;

private:
    static locale_t plain();
    locale_t before_;
};

} // namespace detail

/// std::snprintf as in the "C" locale: for lines of tables with numbers among words.
[[gnu::format(printf, 3, 4)]] int print_to(char* text, std::size_t size, const char* format, ...);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/base/number_text.inl"
#endif

#include "tessera/base/end_header.inl"
