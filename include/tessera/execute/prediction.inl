// SPDX-License-Identifier: Apache-2.0
// Bodies of prediction.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/prediction.hpp"

namespace tessera::detail {

TESSERA_INLINE prediction_setting setting_for(const graph_view& g, const strategy& s, const std::vector<int>& wanted) {
    for (const int t : wanted) {
        if (t < 0 || t >= g.tensor_count || g.tensors[t].producer < 0) {
            throw error("tessera: tensor " + std::to_string(t) +
                        " is to be predicted, but no operator of the network "
                        "makes it");
        }
    }
    if (wanted.empty()) {
        throw error("tessera: a prediction of nothing; say which tensors are wanted");
    }
    prediction_setting x{wanted, reduced_to(g, wanted), s};
    x.how.ops.clear();
    for (const int op : x.part.ops) {
        x.how.ops.push_back(s.ops[to_size(op)]);
        x.how.ops.back().stage = 0;
        x.how.ops.back().recompute = x.how.ops.back().offload = false;
    }
    x.how.micro_batches = 1;
    x.how.schedule = {};
    if (s.schedule.stages > 0 &&
        s.schedule.is_mirrored(0)) { // there may be no parameters but those of the mirrored replica
        x.how.schedule.stages = 1;
        x.how.schedule.workers = {{{0, 0, action_kind::forward}, {0, 0, action_kind::backward}}};
        x.how.schedule.mirrored = {1};
    }
    x.how.steps_per_plan = 1;
    return x;
}

TESSERA_INLINE std::vector<int> all_predictions(const graph_view& g) {
    std::vector<char> read(to_size(g.tensor_count), 0);
    for (int op = 0; op < g.op_count; ++op) {
        for (const int t : g.ops[op].inputs) {
            char& mine = read[to_size(t)];
            mine = g.is_loss(op) ? mine : 1;
        }
    }
    std::vector<int> all;
    for (int op = 0; op < g.op_count; ++op) {
        if (!g.is_loss(op) && read[to_size(g.ops[op].output)] == 0) {
            all.push_back(g.ops[op].output);
        }
    }
    return all;
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
