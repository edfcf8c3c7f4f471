// SPDX-License-Identifier: Apache-2.0
// Bodies of quoted.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/base/quoted.hpp"

namespace tessera::quoted::detail {

TESSERA_INLINE std::string digits_of(std::uint32_t number, int digits) {
    std::string text(to_size(digits), '0');
    for (std::size_t k = text.size(); k-- > 0; number >>= 4U) {
        text[k] = "0123456789abcdef"[number & 0xfU];
    }
    return text;
}

TESSERA_INLINE std::string picture_of(std::uint32_t code) {
    if (code < 0x20U || code == 0x7fU) {
        const std::uint32_t shown = code == 0x7fU ? 0x21U : code;
        return {'\xe2', '\x90', static_cast<char>(0x80U + shown)};
    }
    return "\xef\xbf\xbd";
}

} // namespace tessera::quoted::detail

namespace tessera::quoted {

TESSERA_INLINE std::string python_inside(std::string_view text) {
    return detail::each_point(text, [](const detail::point& p) -> std::string {
        if (p.code == '"' || p.code == '\\') {
            return {'\\', static_cast<char>(p.code)};
        }
        if (!detail::is_control(p)) {
            return {};
        }
        return p.code == '\n'      ? "\\n"
               : p.code < 0x100U   ? "\\x" + detail::digits_of(p.code, 2)
               : p.code <= 0xffffU ? "\\u" + detail::digits_of(p.code, 4)
                                   : "\\U" + detail::digits_of(p.code, 8);
    });
}

TESSERA_INLINE std::string cpp(std::string_view text) {
    const std::string inside = detail::each_point(text, [](const detail::point& p) -> std::string {
        if (p.code == '"' || p.code == '\\') {
            return {'\\', static_cast<char>(p.code)};
        }
        if (!detail::is_control(p) && p.code != '?') {
            return {};
        }
        std::string all;
        for (const char c : p.bytes) { // three octal digits end by themselves
            const auto code = static_cast<unsigned char>(c);
            all += {'\\', static_cast<char>('0' + code / 64), static_cast<char>('0' + code / 8 % 8),
                    static_cast<char>('0' + code % 8)};
        }
        return all;
    });
    return "\"" + inside + "\"";
}

TESSERA_INLINE std::string line(std::string_view text) {
    return detail::each_point(text, [](const detail::point& p) -> std::string {
        return detail::is_control(p) ? detail::picture_of(p.code) : p.code == '\\' ? "/" : "";
    });
}

TESSERA_INLINE std::string html(std::string_view text) {
    return detail::each_point(text, [](const detail::point& p) -> std::string {
        switch (p.code) {
        case '&':
            return "&amp;";
        case '<':
            return "&lt;";
        case '>':
            return "&gt;";
        case '"':
            return "&quot;";
        case '\'':
            return "&#39;";
        default:
            return detail::is_control(p) ? detail::picture_of(p.code) : "";
        }
    });
}

TESSERA_INLINE std::string json_controls(std::string_view text) {
    return detail::each_point(text, [](const detail::point& p) -> std::string {
        if (p.code < 0x7fU || !detail::is_control(p)) {
            return {};
        }
        if (p.code <= 0xffffU) {
            return "\\u" + detail::digits_of(p.code, 4);
        }
        const std::uint32_t over = p.code - 0x10000U; // RFC 8259, section 7: two of UTF-16
        return "\\u" + detail::digits_of(0xd800U + (over >> 10U), 4) + "\\u" +
               detail::digits_of(0xdc00U + (over & 0x3ffU), 4);
    });
}

TESSERA_INLINE std::string json(std::string_view text) {
    const std::string inside = detail::each_point(text, [](const detail::point& p) -> std::string {
        if (p.code == '"' || p.code == '\\') {
            return {'\\', static_cast<char>(p.code)};
        }
        return p.code < 0x20U ? "\\u" + detail::digits_of(p.code, 4) : p.valid ? "" : "\xef\xbf\xbd";
    });
    return "\"" + json_controls(inside) + "\"";
}

TESSERA_INLINE std::string json_in_script(std::string_view text) {
    return detail::each_point(json_controls(text), [](const detail::point& p) -> std::string {
        return p.code == '<' || p.code == '>' || p.code == '&' ? "\\u" + detail::digits_of(p.code, 4) : "";
    });
}

TESSERA_INLINE std::string csv(std::string_view text) {
    bool plain = !text.empty() && text.front() != ' ' && text.back() != ' ';
    for (std::size_t at = 0; at < text.size() && plain;) {
        const detail::point p = detail::point_at(text, at);
        plain = (!p.valid || !detail::is_control(p)) && p.code != ',' && p.code != '"';
        at += p.bytes.size();
    }
    if (plain) {
        return std::string(text);
    }
    std::string field = "\"";
    for (const char c : text) {
        field += c == '"' ? "\"\"" : std::string(1, c);
    }
    return field + '"';
}

TESSERA_INLINE std::string tsv(std::string_view text, bool ascii) {
    return detail::each_point(text, [&](const detail::point& p) -> std::string {
        switch (p.code) {
        case '\\':
            return "\\\\";
        case '\n':
            return "\\n";
        case '\r':
            return "\\r";
        case '\t':
            return "\\t";
        default:
            break;
        }
        if (!detail::is_control(p) && !(ascii && (p.code == ' ' || p.code > '~'))) {
            return {};
        }
        std::string all;
        for (const char c : p.bytes) {
            all += "\\x" + detail::digits_of(static_cast<unsigned char>(c), 2);
        }
        return all;
    });
}

TESSERA_INLINE std::string shown(std::string_view text, std::size_t most) {
    if (text.size() <= most) {
        return std::string(text);
    }
    std::size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) {
        --end;
    }
    return std::string(text.substr(0, end)) + "... (" + std::to_string(text.size()) + " bytes)";
}

} // namespace tessera::quoted

#include "tessera/base/end_header.inl"
