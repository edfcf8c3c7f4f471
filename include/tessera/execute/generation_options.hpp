// SPDX-License-Identifier: Apache-2.0
// What a generation of tokens may be told.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/sampling.hpp"

#include <vector>

namespace tessera {

/// Tokens of one sequence.
using token_list = std::vector<std::int32_t>;

struct generation_options {
    index_t new_tokens = 16;      ///< at most, of each sequence
    sampling how{};               ///< the likeliest token unless it says otherwise
    std::int32_t stop_token = -1; ///< with it a sequence ends, its last token; -1: none
};

/// What is planned once for all calls.
struct generator_options {
    index_t max_length = 0; ///< positions of a sequence, its prompt and all that is made; 0: as many as the network has
    index_t piece = 16;     ///< positions of prompts that go through the network at a time
};

} // namespace tessera

#include "tessera/base/end_header.inl"
