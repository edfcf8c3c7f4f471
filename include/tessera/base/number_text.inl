// SPDX-License-Identifier: Apache-2.0
// Bodies of number_text.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/base/number_text.hpp"

namespace tessera {

TESSERA_INLINE std::string fixed_text(double x, int digits) {
    char text[400]; // 309 digits before the point
    const auto made = std::to_chars(text, text + sizeof text, x, std::chars_format::fixed, digits);
    return {text, made.ptr};
}

TESSERA_INLINE std::string general_text(double x, int digits) {
    char text[80];
    const auto made = std::to_chars(text, text + sizeof text, x, std::chars_format::general, digits);
    return {text, made.ptr};
}

TESSERA_INLINE std::string exact_text(double x) {
    char text[40];
    const auto made = std::to_chars(text, text + sizeof text, x, std::chars_format::hex);
    const std::string_view digits(text, to_size(made.ptr - text));
    const bool negative = digits.front() == '-';
    const std::string rest(digits.substr(negative ? 1 : 0));
    const bool is_number = rest.front() >= '0' && rest.front() <= '9';
    return (negative ? "-" : "") + std::string(is_number ? "0x" : "") + rest;
}

TESSERA_INLINE std::size_t read_number(std::string_view text, double& to) {
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
    return to_size(read.ptr - text.data());
}

TESSERA_INLINE bool is_number_text(std::string_view text, double& to) {
    return !text.empty() && read_number(text, to) == text.size();
}

} // namespace tessera

namespace tessera::detail {

TESSERA_INLINE locale_t plain_locale::plain() {
    static const locale_t c = newlocale(LC_ALL_MASK, "C", nullptr);
    return c;
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE int print_to(char* text, std::size_t size, const char* format, ...) {
    const detail::plain_locale while_it_prints;
    std::va_list arguments;
    va_start(arguments, format);
    const int length = std::vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return length;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
