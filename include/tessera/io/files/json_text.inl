// SPDX-License-Identifier: Apache-2.0
// Bodies of json_text.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/json_text.hpp"

namespace tessera::io::detail {

TESSERA_INLINE bool add_line(std::string& out, const json& j, std::size_t most) {
    const auto is_longer = [&](const std::string& text) { return out.size() + text.size() + 2 > most; }; // when quoted
    if (!j.is_structured()) {
        if (j.is_string() && is_longer(j.get_ref<const std::string&>())) {
            return false;
        }
        out += text_of_json(j);
        return out.size() <= most;
    }
    out += j.is_object() ? '{' : '[';
    bool first = true;
    for (const auto& member : j.items()) {
        out += first ? "" : ", ";
        first = false;
        if (j.is_object()) {
            if (is_longer(member.key())) {
                return false;
            }
            out += text_of_json(member.key()) + ": ";
        }
        if (!add_line(out, member.value(), most)) {
            return false;
        }
    }
    out += j.is_object() ? '}' : ']';
    return out.size() <= most;
}

TESSERA_INLINE void write_json(std::string& out, const json& j, std::size_t indent) {
    constexpr std::size_t columns = 140;
    if (!j.is_structured() || j.empty()) {
        out += text_of_json(j);
        return;
    }
    bool list = false; // of objects: one line for each
    for (const json& inside : j) {
        list = list || (j.is_array() && inside.is_object());
    }
    if (std::string line; indent > 0 && indent < columns && !list && add_line(line, j, columns - indent)) {
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

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE std::string to_text(const json& j) {
    std::string out;
    detail::write_json(out, j, 0);
    return out + "\n";
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
