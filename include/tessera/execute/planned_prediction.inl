// SPDX-License-Identifier: Apache-2.0
// Bodies of planned_prediction.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/planned_prediction.hpp"

#include "tessera/net/lengths.hpp"
#include "tessera/net/with_batch.hpp"
#include "tessera/net/with_length.hpp"
#include "tessera/plan/lower/lower.hpp"

#include <utility>

namespace tessera::detail {

TESSERA_INLINE graph network_at(const graph_view& longest, index_t length, index_t samples) {
    return length == longest_of(longest) ? with_batch(longest, samples)
                                         : with_batch(with_length(longest, length).view(), samples);
}

TESSERA_INLINE owned<planned_prediction> lowered_prediction(const prediction_key& what, index_t full, bool fuses) {
    const graph described = network_at(what.part.part.network.view(), what.length, what.samples);
    std::vector<int> wanted;
    for (const int t : what.part.wanted) {
        wanted.push_back(what.part.part.tensors[to_size(t)]);
    }
    fused_network network =
        fuses ? fuse(described.view(), what.part.how, wanted, false) : not_fused(described.view(), what.part.how);
    lower_options o;
    o.kind = run_kind::evaluation;
    o.allow_empty = what.samples < full;
    for (const int t : wanted) {
        o.wanted.push_back(network.tensors[to_size(t)]);
    }
    strategy_view s = network.how.view();
    s.steps_per_plan = 1;
    plan p = lower(network.network.view(), s, 1, o);
    return owned<planned_prediction>(new planned_prediction{what, std::move(network), std::move(p)});
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
