// SPDX-License-Identifier: Apache-2.0
// What a shard keeps in its device's memory from forward to backward, whatever else is there.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/additive.hpp"

#include <vector>

namespace tessera::search {

/// Counts parameters with their first users, their gradients and the optimizer's state, and every operator's output,
/// which backward needs, unless it recomputes or offloads. What is gathered from other devices and gradients on their way come on top, so that this is a
/// lower bound; plan_memory() knows the whole.
class resident_bytes {
public:
    /// `states`: numbers that the optimizer keeps for each parameter.
    resident_bytes(const graph_view& g, int states);

    /// `keeps`: the operator does not recompute.
    index_t of(const graph_view& g, int op, const description& d, const shard& s, bool keeps = true) const;
    /// With the largest piece of every operand: some shard's where degrees divide, and an upper bound elsewhere.
    index_t most(const graph_view& g, int op, const description& d, const configuration& c, const index_t* pool) const;

private:
    template <class Elements>
    index_t sum(const graph_view& g, int op, const description& d, bool keeps, const Elements& elements) const {
        index_t all = 0;
        for (int o = 0; o < d.operands.size(); ++o) {
            const operand& x = d.operands[o];
            const bool own =
                x.kind == operand_kind::parameter && first_user_[to_size(g.ops[op].parameters[x.slot])] == op;
            const index_t copies = own ? 2 + states_ : x.kind == operand_kind::output && !d.facts.view && keeps ? 1 : 0;
            all += copies == 0 ? 0 : copies * elements(o) * bytes_of(x.type);
        }
        return all;
    }

    index_t states_;
    std::vector<int> first_user_; ///< of each parameter
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/resident_bytes.inl"
#endif

#include "tessera/base/end_header.inl"
