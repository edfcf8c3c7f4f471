// SPDX-License-Identifier: Apache-2.0
// What each shard of an operator holds of an operand, as pieces of that tensor.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/layout/piece.hpp"
#include "tessera/strategy/configuration.hpp"

#include <vector>

namespace tessera {

/// What the shards of an operator hold of an operand.
enum class operand_tensor : std::uint8_t {
    /// what they write of the output, a summand each where they share a reduction; what they need of anything else
    value,
    gradient, ///< what they need of the output's gradient; what they add to the gradient of anything else
};

/// What one shard holds of an operand.
constexpr piece piece_of(const description& d, int which, const configuration& c, const shard& s, operand_tensor what) {
    const bool written = d.operands[which].kind == operand_kind::output;
    int part = 0;
    if (what == operand_tensor::value) { // of what it needs: the part of a partial tensor that passes through it
        part = written ? part_of_nest(s, c, d, d.nests.size() - 1) : s.summand;
    } else if (!written) { // replicas add the same
        part = s.box_index;
    }
    return {region(d, which, s.ranges), s.device, part, -1};
}

/// What all shards hold of an operand, shard by shard. To the gradient of what is added once (a bias) only its first
/// parts add.
template <class Description, class Piece = piece>
constexpr std::vector<Piece> pieces_of(const Description& d, int which, const configuration& c, const index_t* pool,
                                       operand_tensor what) {
    std::vector<Piece> all;
    for (int i = 0; i < c.shards(); ++i) {
        const shard s = shard_at(c, pool, d, i);
        if (what == operand_tensor::value || !d.operands[which].additive || is_first_part(s, d)) {
            all.push_back(piece_of(d, which, c, s, what));
        }
    }
    return all;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
