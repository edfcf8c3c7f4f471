// SPDX-License-Identifier: Apache-2.0
// Families of language models at any size: graphs by numbers that are known at run time, equal to those of the zoo's
// types where both have a network.
#pragma once

#include "tessera/net/graph.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace networks {

enum class family {
    gpt,   ///< GPT-2 and GPT-3; without biases and with ALiBi it is MPT
    llama, ///< LLaMA 2 and 3
    moe,   ///< Mixtral: LLaMA's blocks with experts of which a token takes the best
};

/// The numbers of a network. Zeros are worked out: key_heads are as many as heads, hidden is four times the width in a
/// GPT and otherwise 8/3 of it in whole 256 (Touvron et al. 2023, section 2.2).
struct family_sizes {
    family form = family::gpt;
    int layers = 12;
    tessera::index_t width = 768;
    tessera::index_t heads = 12;
    tessera::index_t key_heads = 0; ///< of keys and values; of llama and moe
    tessera::index_t hidden = 0;    ///< channels in the middle of a feed-forward part
    tessera::index_t sequence = 1024;
    tessera::index_t vocabulary = 50257;
    bool biases = true; ///< of the linear layers of a GPT; llama and moe have none
    bool alibi = false; ///< of a GPT: attention says places instead of a table of positions
    bool tied = true;   ///< the output layer is the embedding's table
    int dropout = 0;    ///< per cent, as GPT-2 has it: of the embedding, the weights of attention and each part
    double rotary_base = 10'000;
    tessera::index_t experts = 8;
    tessera::index_t top = 2; ///< experts of a token
    double capacity = 2;      ///< slots of an expert, in even shares of a sample's tokens
    tessera::precision math = tessera::precision::fp32;

    friend bool operator==(const family_sizes&, const family_sizes&) = default;
};

/// A network that has a name, or the usual sizes of a family by the family's name.
struct named_sizes {
    const char* name;
    const char* what;
    family_sizes sizes;
};
/// "gpt", "mpt", "llama" and "moe": families of which every size may be said.
std::span<const named_sizes> families();
/// The sizes of a family's name or of a network of the zoo that is of a family, without dropout; none for other names.
std::optional<family_sizes> sizes_of(std::string_view name);

/// The network for so many samples. Throws tessera::error where the sizes do not go together.
tessera::graph describe(const family_sizes& s, tessera::index_t batch);

} // namespace networks
