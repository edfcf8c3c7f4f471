// SPDX-License-Identifier: Apache-2.0
// A plan for predictions alone, which all lanes of a serving_session have.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/owned.hpp"
#include "tessera/execute/prediction.hpp"
#include "tessera/net/graph.hpp"
#include "tessera/plan/fuse.hpp"
#include "tessera/plan/plan.hpp"

#include <atomic>

namespace tessera::detail {

/// What tells two of them apart.
struct prediction_key {
    const prediction_setting& part;
    index_t samples;
    index_t length;

    bool operator==(const prediction_key& o) const {
        return &part == &o.part && samples == o.samples && length == o.length;
    }
};

/// The plan with its network; not what lanes prepare of it.
struct planned_prediction {
    prediction_key what;
    fused_network network;
    plan bound;
    std::atomic<int> users{0}; ///< lanes that have it prepared
};

/// A network at a length of sequences, for so many samples.
graph network_at(const graph_view& longest, index_t length, index_t samples);

/// Its logical plan, which is still to be bound. `full`: samples of a full batch; `fuses`: expressions in a row.
owned<planned_prediction> lowered_prediction(const prediction_key& what, index_t full, bool fuses);

} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/execute/planned_prediction.inl"
#endif

#include "tessera/base/end_header.inl"
