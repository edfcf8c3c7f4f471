// SPDX-License-Identifier: Apache-2.0
// What a generation of tokens may be told.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/rules.hpp"
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

template <class Net, class B>
class generator; // execute/generator.hpp

/// What is planned once for all calls.
struct generator_options {
    index_t max_length = 0; ///< positions of a sequence, its prompt and all that is made; 0: as many as the network has
    index_t piece = 16;     ///< positions of prompts that go through the network at a time
};

namespace detail {

TESSERA_REFUSAL(generator_not_included, "generate() wants tessera/execute/generator.hpp included");

/// Generates with the weights that `from` has now.
template <class Net, class B, class From>
std::vector<token_list> generate_once(From& from, const std::vector<token_list>& prompts,
                                      const generation_options& options, const generator_options& size) {
    if constexpr (requires { sizeof(generator<Net, B>); }) {
        return generator<Net, B>(from, size).generate(prompts, options);
    } else {
        static_cast<void>(sizeof(generator_not_included<From>));
        return {};
    }
}

} // namespace detail

} // namespace tessera

#include "tessera/base/end_header.inl"
