// SPDX-License-Identifier: Apache-2.0
// What the checks of shards ask again and again: which gradients flow, and which tiles are pieces of which tensor, of
// which shard.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {

/// A shard's place in the loops of a nest, with the part of partial inputs that it passes on.
struct cell {
    interval at[max_loops + 1];
    int axes = 0;

    friend bool operator==(const cell& a, const cell& b) {
        for (int i = 0; i < a.axes; ++i) {
            if (!(a.at[i] == b.at[i])) {
                return false;
            }
        }
        return true;
    }
    friend bool operator<(const cell& a, const cell& b) {
        for (int i = 0; i < a.axes; ++i) {
            if (!(a.at[i] == b.at[i])) {
                return a.at[i].begin != b.at[i].begin ? a.at[i].begin < b.at[i].begin : a.at[i].end < b.at[i].end;
            }
        }
        return false;
    }
    std::uint64_t hash() const;
};

} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/plan/verify/pieces.inl"
#endif

#include "tessera/base/end_header.inl"
