// SPDX-License-Identifier: Apache-2.0
// Bodies of generation.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/generation.hpp"

namespace tessera::detail {

TESSERA_INLINE void require(const generator_options& options, index_t room) {
    if (options.max_length < 0 || room < 1) {
        throw error("tessera: a cache of " + std::to_string(options.max_length) +
                    " positions; max_length is at least 1, or 0 for as many as the network has");
    }
    if (options.piece < 1) {
        throw error("tessera: prompts in pieces of " + std::to_string(options.piece) +
                    " positions; a piece has at least 1");
    }
}

TESSERA_INLINE void require_prompts(std::span<const token_list> prompts, const generation_options& options,
                                    index_t room, index_t tokens) {
    tessera::require(options.how);
    if (options.new_tokens < 0) {
        throw error("tessera: " + std::to_string(options.new_tokens) + " new tokens; ask for at least 0");
    }
    for (std::size_t n = 0; n < prompts.size(); ++n) {
        const auto length = static_cast<index_t>(prompts[n].size());
        if (length < 1) {
            throw error("tessera: prompt " + std::to_string(n) +
                        " is empty; it needs at least one token, such as that with which texts begin");
        }
        if (length + options.new_tokens > room) {
            throw error("tessera: prompt " + std::to_string(n) + " has " + std::to_string(length) +
                        " tokens, which are " + std::to_string(length + options.new_tokens) + " with " +
                        std::to_string(options.new_tokens) + " new ones, and the cache has " + std::to_string(room) +
                        " positions; make the generator with a larger max_length, shorten the prompt or ask for fewer "
                        "tokens");
        }
        for (const std::int32_t t : prompts[n]) {
            if (t < 0 || t >= tokens) {
                throw error("tessera: prompt " + std::to_string(n) + " has the token " + std::to_string(t) +
                            ", and the network takes tokens from 0 to " + std::to_string(tokens - 1));
            }
        }
    }
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
