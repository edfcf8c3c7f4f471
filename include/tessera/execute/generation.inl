// SPDX-License-Identifier: Apache-2.0
// Bodies of generation.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/generation.hpp"

#include "tessera/execute/ranks/hash_of_bytes.hpp"

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

/// What goes through a network, for processes to compare.
struct tokens_identity {
    std::uint64_t tokens = 0; ///< hash of all, and of how many each sequence has
    std::uint64_t lengths = 0;
    index_t sequences = 0;
    index_t new_tokens = 0;
    std::int32_t stop_token = -1;
    double temperature = 0;
    index_t top_k = 0;
    double top_p = 1;
    std::uint64_t seed = 1;
    index_t piece = 0;

    template <class See>
    static constexpr void each_field(See&& see) {
        using s = tokens_identity;
        see("sequences", &s::sequences, {});
        see("tokens", &s::tokens, {});
        see("lengths", &s::lengths, {});
        see("new_tokens", &s::new_tokens, {});
        see("stop_token", &s::stop_token, {});
        see("temperature", &s::temperature, {});
        see("top_k", &s::top_k, {});
        see("top_p", &s::top_p, {});
        see("seed", &s::seed, {});
        see("piece", &s::piece, {});
    }
};

TESSERA_INLINE void compare_tokens(process_group* group, std::span<const token_list> tokens,
                                   std::span<const index_t> lengths, const generation_options& options, index_t piece) {
    if (group == nullptr) {
        return;
    }
    tokens_identity x;
    for (const token_list& t : tokens) {
        x.tokens = op::mix(x.tokens ^ hash_of_bytes(t.data(), t.size() * sizeof(std::int32_t)) ^ t.size());
    }
    x.lengths = hash_of_bytes(lengths.data(), lengths.size_bytes());
    x.sequences = static_cast<index_t>(tokens.size());
    x.new_tokens = options.new_tokens;
    x.stop_token = options.stop_token;
    x.temperature = options.how.temperature;
    x.top_k = options.how.top_k;
    x.top_p = options.how.top_p;
    x.seed = options.how.seed;
    x.piece = piece;
    field_lines lines;
    lines.add("generation", x);
    group->compare(barrier_point::begin_run, lines.hash(), [&] { return lines.text(); });
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
