// SPDX-License-Identifier: Apache-2.0
// Bodies of sequence_parallel.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/by_hand/sequence_parallel.hpp"

namespace tessera::search {

TESSERA_INLINE strategy share_sequences(const graph_view& g, sequence_sharing how, int groups, int share) {
    require(g, detail::check_sharing(g, how, share));
    strategy s(g);
    s.pool.resize(to_size(detail::devices_of_pieces(how, groups, share)));
    detail::place_pieces(how, groups, share, s.pool.data());
    s.sums_first = true;
    std::vector<int> notes(to_size(detail::notes_of_sharing(g.op_count, g.tensor_count)), 0);
    detail::share_sequences(g, how, groups, share, s.ops.data(), notes.data());
    return s;
}

TESSERA_INLINE strategy megatron_sp(const graph_view& g, int groups, int share) {
    return share_sequences(g, sequence_sharing::megatron_sp, groups, share);
}

TESSERA_INLINE strategy ulysses(const graph_view& g, int groups, int share) {
    return share_sequences(g, sequence_sharing::ulysses, groups, share);
}

TESSERA_INLINE strategy ring_attention(const graph_view& g, int groups, int share) {
    return share_sequences(g, sequence_sharing::ring, groups, share);
}

TESSERA_INLINE strategy zigzag_attention(const graph_view& g, int groups, int share) {
    return share_sequences(g, sequence_sharing::zigzag, groups, share);
}

TESSERA_INLINE int most_that_share(const graph_view& g, int per_node, sequence_sharing how) {
    for (int share = per_node; share > 1; --share) {
        if (per_node % share == 0 && !detail::check_sharing(g, how, share)) {
            return share;
        }
    }
    return 1;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
