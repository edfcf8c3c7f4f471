// SPDX-License-Identifier: Apache-2.0
// Texts of anybody inside a language: one writer for each that files are written in. Names of files, layers and tensors
// come from elsewhere; none may end the literal, element or field in which it stands, nor hide what stands beside it.
#pragma once
#include "tessera/base/begin_header.inl"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::quoted {

namespace detail {

/// What stands at a place of a text: a code point and its bytes. A byte that begins no UTF-8 (RFC 3629) is a point by
/// itself, U+FFFD, and not valid.
struct point {
    std::uint32_t code = 0;
    std::string_view bytes{};
    bool valid = true;
};

constexpr point point_at(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t k) -> std::uint32_t {
        return at + k < text.size() ? static_cast<unsigned char>(text[at + k]) : 0U;
    };
    const std::uint32_t first = byte(0);
    const std::size_t length = first < 0x80U ? 1 : first < 0xc2U ? 0 : first < 0xe0U ? 2 : first < 0xf0U ? 3 : 4;
    std::uint32_t code = length == 1 ? first : length == 2 ? first & 0x1fU : length == 3 ? first & 0xfU : first & 7U;
    bool valid = length > 0 && first < 0xf5U;
    for (std::size_t k = 1; k < length && valid; ++k) {
        valid = (byte(k) & 0xc0U) == 0x80U;
        code = code << 6U | (byte(k) & 0x3fU);
    }
    const bool is_longer_than_needed = (length == 3 && code < 0x800U) || (length == 4 && code < 0x10000U);
    valid = valid && !is_longer_than_needed && code <= 0x10ffffU && (code < 0xd800U || code > 0xdfffU);
    return valid ? point{code, text.substr(at, length), true} : point{0xfffdU, text.substr(at, 1), false};
}

/// Control characters (Unicode's Cc), separators of lines, marks that turn the direction of what follows, and what is
/// no character.
constexpr bool is_control(const point& p) {
    return !p.valid || p.code < 0x20U || (p.code >= 0x7fU && p.code < 0xa0U) || p.code == 0x61cU ||
           (p.code >= 0x200bU && p.code <= 0x200fU) || (p.code >= 0x2028U && p.code <= 0x202eU) ||
           (p.code >= 0x2060U && p.code <= 0x206fU) || p.code == 0xfeffU || (p.code & 0xfffeU) == 0xfffeU;
}

/// A number of so many hexadecimal digits.
std::string digits_of(std::uint32_t number, int digits);

/// Every point as `written(point)` has it; one that gives an empty text is written as it is.
template <class Written>
std::string each_point(std::string_view text, Written written) {
    std::string all;
    all.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const point p = point_at(text, at);
        const std::string as = written(p);
        all += as.empty() ? std::string(p.bytes) : as;
        at += p.bytes.size();
    }
    return all;
}

/// A line of one's own: controls as pictures of U+2400, or U+FFFD where there is none.
std::string picture_of(std::uint32_t code);

} // namespace detail

/// Whether a text is UTF-8.
constexpr bool is_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const detail::point p = detail::point_at(text, at);
        if (!p.valid) {
            return false;
        }
        at += p.bytes.size();
    }
    return true;
}

/// What stands between the double quotes of a literal of Python 3, one or three. Bytes that are no UTF-8 are U+FFFD
/// there.
std::string python_inside(std::string_view text);
/// A literal of Python 3 that is this text.
inline std::string python(std::string_view text) { return "\"" + python_inside(text) + "\""; }

/// A literal of C++ that is this text, byte by byte.
std::string cpp(std::string_view text);

/// A text for people at the end of a line: of a comment of Python or C++, in which nothing has a meaning but the line's
/// end.
std::string line(std::string_view text);

/// Text between tags, and the value of an attribute between quotes, of HTML and of XML, which cannot say control
/// characters: pictures stand for them. A line's end is one of them.
std::string html(std::string_view text);
/// The same in SVG, which is XML.
inline std::string svg(std::string_view text) { return html(text); }

/// The text of a JSON value, in whose strings a library has quoted what JSON asks for, with all other control
/// characters quoted too.
std::string json_controls(std::string_view text);
/// A text as a value of JSON, for those who have no library for it. Bytes that are no UTF-8 are U+FFFD there.
std::string json(std::string_view text);
/// The same for a script element of HTML, which no text in it may end or turn into a comment.
std::string json_in_script(std::string_view text);

/// A field of comma-separated values (RFC 4180), byte by byte: in quotes where it is empty, begins or ends with a
/// blank, or holds a comma, a quote or a control character (a byte order mark at the beginning of a file is none of its
/// text).
std::string csv(std::string_view text);

/// A field between tabs, or a line of a list: \n, \r, \t, \\ and \xHH for every byte of what is a control character.
/// `ascii`: and for every byte that is no printable ASCII, or a blank.
std::string tsv(std::string_view text, bool ascii = false);

/// A text in a message: what is longer than 100 bytes is cut, and the rest counted.
std::string shown(std::string_view text, std::size_t most = 100);

} // namespace tessera::quoted

#ifndef TESSERA_COMPILED
#include "tessera/base/quoted.inl"
#endif

#include "tessera/base/end_header.inl"
