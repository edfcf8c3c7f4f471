// SPDX-License-Identifier: Apache-2.0
// JSON as text that people read: what fits stands on one line.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/json.hpp"

namespace tessera::io {

namespace detail {

/// The value on one line, with blanks after commas and colons.
inline std::string one_line(const json& j) {
    if (!j.is_structured()) {
        return text_of_json(j);
    }
    std::string text;
    for (const auto& member : j.items()) {
        text += text.empty() ? "" : ", ";
        text += (j.is_object() ? text_of_json(member.key()) + ": " : "") + one_line(member.value());
    }
    return j.is_object() ? "{" + text + "}" : "[" + text + "]";
}

inline void write_json(std::string& out, const json& j, std::size_t indent) {
    constexpr std::size_t columns = 140;
    const std::string line = one_line(j);
    bool list = false; // of objects: one line for each
    for (const json& inside : j) {
        list = list || (j.is_array() && inside.is_object());
    }
    if (!j.is_structured() || j.empty() || (indent > 0 && !list && indent + line.size() <= columns)) {
        out += line;
        return;
    }
    out += j.is_object() ? "{" : "[";
    bool first = true;
    for (const auto& member : j.items()) {
        out += first ? "\n" : ",\n";
        out.append(indent + 2, ' ');
        out += j.is_object() ? text_of_json(member.key()) + ": " : "";
        write_json(out, member.value(), indent + 2);
        first = false;
    }
    out += "\n";
    out.append(indent, ' ');
    out += j.is_object() ? "}" : "]";
}

} // namespace detail

/// The text of a value, with a line's end; json_document gives it back.
inline std::string to_text(const json& j) {
    std::string out;
    detail::write_json(out, j, 0);
    return out + "\n";
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
