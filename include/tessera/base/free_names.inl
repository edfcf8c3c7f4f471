// SPDX-License-Identifier: Apache-2.0
// Bodies of free_names.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/free_names.hpp"

namespace tessera {

TESSERA_INLINE std::string free_names::next(std::string_view text) {
    std::string name;
    for (const char c : text) {
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool is_digit = c >= '0' && c <= '9';
        if (is_letter || is_digit) {
            name += name.empty() && is_digit ? std::string("n") + c : std::string(1, c);
        } else if (!name.empty() && name.back() != '_') {
            name += '_';
        }
    }
    name = name.empty() ? "node" : name;
    std::string free = reserved_->count(name) != 0 ? name + "_" : name;
    if (!taken_.insert(free).second) {
        int& more = more_[name]; // numbers below it are taken
        do {
            free = name + (name.back() == '_' ? "" : "_") + std::to_string(++more);
        } while (!taken_.insert(free).second);
    }
    return free;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
