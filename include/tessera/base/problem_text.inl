// SPDX-License-Identifier: Apache-2.0
// Bodies of problem_text.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/problem_text.hpp"

namespace tessera::detail {

TESSERA_INLINE void append_numbers(std::string& text, const problem& p) {
    if (p.action >= 0) {
        text += to_text(static_cast<action_kind>(p.action));
        text += p.stage < 0 ? ", " : " of stage " + std::to_string(p.stage) + ", ";
        text += p.micro_batch < 0 ? "" : "micro-batch " + std::to_string(p.micro_batch) + ", ";
    }
    text += "found " + std::to_string(p.found) + ", needed " + std::to_string(p.needed) + "]";
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE std::string to_text(const problem& p) {
    std::string text = "tessera: ";
    text += to_text(p.broken);
    text += p.op >= 0 ? " [operator " + std::to_string(p.op) + ", " : " [";
    detail::append_numbers(text, p);
    return text;
}

TESSERA_INLINE void require(const problem& p) {
    if (p) {
        throw error(to_text(p));
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
