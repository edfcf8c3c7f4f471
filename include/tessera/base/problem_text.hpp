// SPDX-License-Identifier: Apache-2.0
// What an exception says of a broken rule that no layer is to blame for.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/base/rules.hpp"

#include <string>

namespace tessera {

namespace detail {

/// Appends the action of a schedule, if it is one that is wrong, and the numbers.
inline void append_numbers(std::string& text, const problem& p) {
    if (p.action >= 0) {
        text += to_text(static_cast<action_kind>(p.action));
        text += p.stage < 0 ? ", " : " of stage " + std::to_string(p.stage) + ", ";
        text += p.micro_batch < 0 ? "" : "micro-batch " + std::to_string(p.micro_batch) + ", ";
    }
    text += "found " + std::to_string(p.found) + ", needed " + std::to_string(p.needed) + "]";
}

} // namespace detail

/// The words of a broken rule with the numbers: "tessera: ... [forward of stage 0, micro-batch 2, found 2, needed 1]".
inline std::string to_text(const problem& p) {
    std::string text = "tessera: ";
    text += to_text(p.broken);
    text += p.op >= 0 ? " [operator " + std::to_string(p.op) + ", " : " [";
    detail::append_numbers(text, p);
    return text;
}

/// Throws tessera::error with these words where a rule is broken.
inline void require(const problem& p) {
    if (p) {
        throw error(to_text(p));
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
