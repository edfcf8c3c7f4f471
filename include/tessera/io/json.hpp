// SPDX-License-Identifier: Apache-2.0
// JSON as RFC 8259 says, read strictly: what is wrong is told with its line and column, names may not come twice, nothing may follow.
#pragma once

#include "tessera/base/error.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::io {

/// A JSON value. Whole numbers that fit in 64 bits stay exact; objects keep the order of their members.
struct json {
    enum class type : std::uint8_t { null, boolean, integer, number, text, array, object };

    type kind = type::null;
    bool boolean = false;
    std::int64_t integer = 0;
    double number = 0;
    std::string text;
    std::vector<json> items;                           ///< of an array
    std::vector<std::pair<std::string, json>> members; ///< of an object

    json() = default;
    json(bool b) : kind(type::boolean), boolean(b) {}
    json(std::int64_t i) : kind(type::integer), integer(i) {}
    json(int i) : kind(type::integer), integer(i) {}
    json(double d) : kind(type::number), number(d) {}
    json(const char* s) : kind(type::text), text(s) {}
    json(std::string s) : kind(type::text), text(static_cast<std::string&&>(s)) {}

    static json array() {
        json j;
        j.kind = type::array;
        return j;
    }
    static json object() {
        json j;
        j.kind = type::object;
        return j;
    }
    json& push(json value) {
        items.push_back(static_cast<json&&>(value));
        return items.back();
    }
    json& set(std::string name, json value) {
        members.emplace_back(static_cast<std::string&&>(name), static_cast<json&&>(value));
        return members.back().second;
    }
    const json* find(std::string_view name) const {
        for (const auto& [key, value] : members) {
            if (key == name) {
                return &value;
            }
        }
        return nullptr;
    }
    friend bool operator==(const json&, const json&) = default;
};

constexpr const char* to_text(json::type t) {
    constexpr const char* names[] = {"null",   "true or false", "a whole number", "a number",
                                     "a text", "an array",      "an object"};
    return names[static_cast<int>(t)];
}

namespace detail {

class json_reader {
public:
    explicit json_reader(std::string_view s) : s_(s) {}

    json document() {
        json j = value(0);
        blanks();
        if (at_ != s_.size()) {
            refuse("something follows the value; a file holds one");
        }
        return j;
    }

private:
    static constexpr int deepest = 100;

    [[noreturn]] void refuse(const std::string& what) const {
        std::size_t line = 1;
        std::size_t column = 1;
        for (std::size_t i = 0; i < at_ && i < s_.size(); ++i) {
            column = s_[i] == '\n' ? 1 : column + 1;
            line += s_[i] == '\n' ? 1 : 0;
        }
        throw error("tessera: JSON, line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + what);
    }
    char peek() const { return at_ < s_.size() ? s_[at_] : '\0'; }
    bool skip(char c) {
        if (at_ < s_.size() && s_[at_] == c) {
            ++at_;
            return true;
        }
        return false;
    }
    void need(char c) {
        if (!skip(c)) {
            refuse(std::string("'") + c + "' is missing");
        }
    }
    void blanks() {
        while (at_ < s_.size() && (s_[at_] == ' ' || s_[at_] == '\t' || s_[at_] == '\n' || s_[at_] == '\r')) {
            ++at_;
        }
    }
    bool word(std::string_view w) {
        if (s_.substr(at_, w.size()) != w) {
            return false;
        }
        at_ += w.size();
        return true;
    }

    json value(int depth) {
        if (depth > deepest) {
            refuse("values lie within each other more than 100 deep");
        }
        blanks();
        switch (peek()) {
        case '{':
            return object(depth);
        case '[':
            return array(depth);
        case '"':
            return json(string());
        case 't':
            if (word("true")) {
                return json(true);
            }
            break;
        case 'f':
            if (word("false")) {
                return json(false);
            }
            break;
        case 'n':
            if (word("null")) {
                return {};
            }
            break;
        default:
            if (peek() == '-' || (peek() >= '0' && peek() <= '9')) {
                return number();
            }
        }
        refuse("a value is missing");
    }
    json array(int depth) {
        json j = json::array();
        need('[');
        blanks();
        if (skip(']')) {
            return j;
        }
        do {
            j.items.push_back(value(depth + 1));
            blanks();
        } while (skip(','));
        need(']');
        return j;
    }
    json object(int depth) {
        json j = json::object();
        need('{');
        blanks();
        if (skip('}')) {
            return j;
        }
        do {
            blanks();
            if (peek() != '"') {
                refuse("the name of a member is missing");
            }
            std::string name = string();
            if (j.find(name) != nullptr) {
                refuse("the name \"" + name + "\" comes twice");
            }
            blanks();
            need(':');
            j.members.emplace_back(name, value(depth + 1));
            blanks();
        } while (skip(','));
        need('}');
        return j;
    }
    json number() {
        const std::size_t first = at_;
        const auto digits = [this] {
            const std::size_t start = at_;
            while (peek() >= '0' && peek() <= '9') {
                ++at_;
            }
            if (at_ == start) {
                refuse("a digit is missing");
            }
        };
        skip('-');
        if (!skip('0')) {
            digits();
        }
        bool whole = true;
        if (skip('.')) {
            whole = false;
            digits();
        }
        if (peek() == 'e' || peek() == 'E') {
            whole = false;
            ++at_;
            if (!skip('+')) {
                skip('-');
            }
            digits();
        }
        const char* begin = s_.data() + first;
        const char* end = s_.data() + at_;
        json j;
        if (whole && std::from_chars(begin, end, j.integer).ec == std::errc()) {
            j.kind = json::type::integer;
            return j;
        }
        j.integer = 0;
        j.kind = json::type::number;
        if (std::from_chars(begin, end, j.number).ec != std::errc() || !std::isfinite(j.number)) {
            refuse("the number is too large");
        }
        return j;
    }
    std::string string() {
        std::string out;
        need('"');
        while (!skip('"')) {
            if (at_ >= s_.size() || static_cast<unsigned char>(s_[at_]) < 0x20) {
                refuse("the text does not end, or holds a control character");
            }
            if (!skip('\\')) {
                out += s_[at_++];
                continue;
            }
            const char c = peek();
            constexpr std::string_view plain = "\"\\/";
            constexpr std::string_view letters = "bfnrt";
            constexpr std::string_view meant = "\b\f\n\r\t";
            ++at_;
            if (plain.find(c) != std::string_view::npos && c != '\0') {
                out += c;
            } else if (letters.find(c) != std::string_view::npos && c != '\0') {
                out += meant[letters.find(c)];
            } else if (c == 'u') {
                append(out, code_point());
            } else {
                --at_;
                refuse("no such escape");
            }
        }
        return out;
    }
    std::uint32_t four_digits() {
        std::uint32_t code = 0;
        if (at_ + 4 > s_.size() ||
            std::from_chars(s_.data() + at_, s_.data() + at_ + 4, code, 16).ptr != s_.data() + at_ + 4) {
            refuse("four hexadecimal digits are missing");
        }
        at_ += 4;
        return code;
    }
    std::uint32_t code_point() {
        const std::uint32_t high = four_digits();
        if (high < 0xd800 || high > 0xdfff) {
            return high;
        }
        if (high > 0xdbff || !word("\\u")) {
            refuse("half of a surrogate pair is missing");
        }
        const std::uint32_t low = four_digits();
        if (low < 0xdc00 || low > 0xdfff) {
            refuse("half of a surrogate pair is missing");
        }
        return 0x10000 + ((high - 0xd800) << 10U) + (low - 0xdc00);
    }
    static void append(std::string& out, std::uint32_t c) {
        if (c < 0x80) {
            out += static_cast<char>(c);
            return;
        }
        const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        out += static_cast<char>(((0xff00U >> static_cast<unsigned>(more + 1)) & 0xffU) |
                                 (c >> static_cast<unsigned>(6 * more)));
        for (int i = more - 1; i >= 0; --i) {
            out += static_cast<char>(0x80U | ((c >> static_cast<unsigned>(6 * i)) & 0x3fU));
        }
    }

    std::string_view s_;
    std::size_t at_ = 0;
};

inline void write_text(std::string& out, const std::string& s) {
    constexpr const char* hex = "0123456789abcdef";
    out += '"';
    for (const char c : s) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out += "\\u00";
            out += hex[static_cast<unsigned char>(c) >> 4U];
            out += hex[static_cast<unsigned char>(c) & 15U];
        } else {
            out += c;
        }
    }
    out += '"';
}

/// Arrays and objects of plain values on one line, others with a line for each.
inline void write_json(std::string& out, const json& j, int indent) {
    const auto is_plain = [](const json& x) { return x.items.empty() && x.members.empty(); };
    bool one_line = true;
    for (const json& x : j.items) {
        one_line = one_line && is_plain(x);
    }
    for (const auto& m : j.members) {
        one_line = one_line && is_plain(m.second) && indent > 0;
    }
    const std::string line = one_line ? "" : "\n" + std::string(static_cast<std::size_t>(2 * indent + 2), ' ');
    const auto between = [&](bool first) { out += first ? line : one_line ? ", " : "," + line; };
    char digits[32];
    switch (j.kind) {
    case json::type::null:
        out += "null";
        break;
    case json::type::boolean:
        out += j.boolean ? "true" : "false";
        break;
    case json::type::integer:
        out += std::to_string(j.integer);
        break;
    case json::type::number:
        out.append(digits, std::to_chars(digits, digits + sizeof digits, j.number).ptr);
        break;
    case json::type::text:
        write_text(out, j.text);
        break;
    case json::type::array:
        out += '[';
        for (const json& x : j.items) {
            between(&x == j.items.data());
            write_json(out, x, indent + 1);
        }
        out += one_line ? "]" : "\n" + std::string(static_cast<std::size_t>(2 * indent), ' ') + "]";
        break;
    case json::type::object:
        out += '{';
        for (const auto& m : j.members) {
            between(&m == j.members.data());
            write_text(out, m.first);
            out += ": ";
            write_json(out, m.second, indent + 1);
        }
        out += one_line ? "}" : "\n" + std::string(static_cast<std::size_t>(2 * indent), ' ') + "}";
    }
}

} // namespace detail

/// Throws tessera::error with line and column for what is not JSON.
inline json parse_json(std::string_view text) { return detail::json_reader(text).document(); }

/// The text of a value; parse_json gives it back (a double that is whole comes back as an integer).
inline std::string to_text(const json& j) {
    std::string out;
    detail::write_json(out, j, 0);
    return out + "\n";
}

} // namespace tessera::io
