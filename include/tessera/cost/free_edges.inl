// SPDX-License-Identifier: Apache-2.0
// Bodies of free_edges.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/free_edges.hpp"

namespace tessera::cost::detail {

TESSERA_INLINE index_t least_without(std::vector<index_t>& wants, int others) {
    const int rest = static_cast<int>(wants.size()) - others;
    if (rest <= 0) {
        return 0;
    }
    std::nth_element(wants.begin(), wants.begin() + (rest - 1), wants.end());
    return wants[to_size(rest) - 1];
}

} // namespace tessera::cost::detail

namespace tessera::cost {

TESSERA_INLINE std::vector<index_t> least_edge_times(const tiling<0, 0, 0>& from, const tiling<0, 0, 0>& to,
                                                     index_t element_bytes, bool gradient, const machine& on) {
    const int rank = from.rank;
    const auto add = [](index_t a, index_t b) { return a + b; };
    std::vector<index_t> held[max_rank];     // [producer's grid][consumer's piece]
    std::vector<index_t> read[max_rank];     // [consumer's grid][producer's piece]
    std::vector<index_t> read_own[max_rank]; // the same, by the consumer's piece that reads most
    for (int k = 0; k < rank; ++k) {
        held[k] = detail::common_with(from.grids[k], from.pieces[k], to.pieces[k], detail::larger);
        read[k] = detail::common_with(to.grids[k], to.pieces[k], from.pieces[k], add);
        read_own[k] = detail::common_with(to.grids[k], to.pieces[k], from.pieces[k], detail::larger);
    }
    const int count = to.each.size();
    std::vector<index_t> times(to_size(from.each.size()) * to_size(count));
    std::vector<index_t> wants;
    for (int i = 0; i < from.each.size(); ++i) {
        const tiled& u = from.each[i];
        const std::uint16_t* p = from.places.begin() + u.first_place;
        for (int j = 0; j < count; ++j) {
            const tiled& v = to.each[j];
            const std::uint16_t* q = to.places.begin() + v.first_place;
            index_t forward = 0;
            wants.clear();
            for (int s = 0; s < v.shards; ++s) {
                index_t needed = 1;
                index_t there = 1;
                for (int k = 0; k < rank; ++k) {
                    const int piece = q[s * rank + k];
                    needed *= to.pieces[k][piece].size();
                    there *= held[k][to_size(u.grids[k] * to.pieces[k].size() + piece)];
                }
                wants.push_back(u.parts * needed);
                forward = std::max(forward, u.parts * needed - there);
            }
            forward = std::max(forward, detail::least_without(wants, u.shards));
            index_t backward = 0;
            wants.clear();
            for (int s = 0; s < u.shards && gradient; ++s) {
                index_t all = v.readers;
                index_t there = 1;
                for (int k = 0; k < rank; ++k) {
                    const int piece = p[s * rank + k];
                    const auto at = to_size(v.grids[k] * from.pieces[k].size() + piece);
                    all *= read[k][at];
                    there *= read_own[k][at];
                }
                wants.push_back(all);
                backward = std::max(backward, all - there);
            }
            backward = std::max(backward, detail::least_without(wants, v.shards));
            times[to_size(i) * to_size(count) + to_size(j)] =
                on.transfer_time(forward * element_bytes) + (gradient ? on.transfer_time(backward * element_bytes) : 0);
        }
    }
    return times;
}

} // namespace tessera::cost

#include "tessera/base/end_header.inl"
