// SPDX-License-Identifier: Apache-2.0
// Bodies of describe.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/describe.hpp"

namespace tessera {

TESSERA_INLINE std::string to_text(const problem& p, std::string_view layer_name, std::string_view missing) {
    std::string text = "tessera: ";
    text += to_text(p.broken);
    text += " [layer ";
    text += layer_name.empty() ? std::string_view("(the network itself)") : layer_name;
    if (p.dimension >= 0) {
        text += ", along ";
        text += to_text(static_cast<loop_name>(p.dimension));
    }
    text += ", ";
    if (!missing.empty()) {
        text += "missing ";
        text += missing;
        text += ", ";
    }
    detail::append_numbers(text, p);
    return text;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
