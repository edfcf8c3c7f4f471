// SPDX-License-Identifier: Apache-2.0
// Numbers as text and text as numbers, the same whatever the program's locale is: std::printf, std::strtod, std::to_string of a floating-point number and
// streams write and read "1,5" under de_DE, so that the library uses none of them for such numbers (tests/locale).
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
inline std::string fixed_text(double x, int digits = 6) {
    char text[400]; // 309 digits before the point
    const auto made = std::to_chars(text, text + sizeof text, x, std::chars_format::fixed, digits);
    return {text, made.ptr};
}

/// With so many digits that count, as "%.*g" writes it.
inline std::string general_text(double x, int digits) {
    char text[80];
    const auto made = std::to_chars(text, text + sizeof text, x, std::chars_format::general, digits);
    return {text, made.ptr};
}

/// The shortest text that is this number alone.
template <class T>
std::string shortest_text(T x) {
    char text[40];
    return {text, std::to_chars(text, text + sizeof text, x).ptr};
}

/// All of its bits in hexadecimal: "0x1.8p+1", "-inf".
inline std::string exact_text(double x) {
    char text[40];
    const auto made = std::to_chars(text, text + sizeof text, x, std::chars_format::hex);
    const std::string_view digits(text, static_cast<std::size_t>(made.ptr - text));
    const bool negative = digits.front() == '-';
    const std::string rest(digits.substr(negative ? 1 : 0));
    const bool is_number = rest.front() >= '0' && rest.front() <= '9';
    return (negative ? "-" : "") + std::string(is_number ? "0x" : "") + rest;
}

/// Reads a number, decimal or hexadecimal ("0x1.8p+1"), from the beginning of a text; returns how many characters it has, 0 for none and for one that no
/// double is.
inline std::size_t read_number(std::string_view text, double& to) {
    std::size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    const bool negative = at == 1 && text[0] == '-';
    const bool hexadecimal = text.size() > at + 2 && text[at] == '0' && (text[at + 1] == 'x' || text[at + 1] == 'X');
    at += hexadecimal ? 2 : 0;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) {
        return 0;
    }
    double x = 0;
    const auto read = std::from_chars(text.data() + at, text.data() + text.size(), x,
                                      hexadecimal ? std::chars_format::hex : std::chars_format::general);
    if (read.ec != std::errc{}) {
        return 0;
    }
    to = negative ? -x : x;
    return static_cast<std::size_t>(read.ptr - text.data());
}
/// True where all of the text is a number.
inline bool is_number_text(std::string_view text, double& to) {
    return !text.empty() && read_number(text, to) == text.size();
}

namespace detail {

/// While it lives, C's functions work in this thread as in the "C" locale.
class plain_locale {
public:
    plain_locale() : before_(uselocale(plain())) {}
    ~plain_locale() { uselocale(before_); }
    plain_locale(const plain_locale&) = delete;
    plain_locale& operator=(const plain_locale&) = delete;

private:
    static locale_t plain() {
        static const locale_t c = newlocale(LC_ALL_MASK, "C", nullptr);
        return c;
    }
    locale_t before_;
};

} // namespace detail

/// std::snprintf as in the "C" locale: for lines of tables with numbers among words.
[[gnu::format(printf, 3, 4)]] inline int print_to(char* text, std::size_t size, const char* format, ...) {
    const detail::plain_locale while_it_prints;
    std::va_list arguments;
    va_start(arguments, format);
    const int length = std::vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return length;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
