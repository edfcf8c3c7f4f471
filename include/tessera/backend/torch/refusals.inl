// SPDX-License-Identifier: Apache-2.0
// Bodies of refusals.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/refusals.hpp"

namespace tessera::torch::detail {

TESSERA_INLINE void refuse_operators(const graph_view& g, std::vector<std::string>& all) {
    for (int op = 0; op < g.op_count; ++op) {
        const op_attributes& a = g.ops[op].attributes;
        const std::string what = path_of(g, op) + ", a " + to_text(a.kind);
        if (row_of(a).line == nullptr) {
            all.push_back(what + ": the operator has no lines for PyTorch");
        }
        if (record_of(a).row_weight != nullptr || record_of(a).ignored != nullptr) {
            all.push_back(what + ": a loss whose rows weigh differently");
        }
    }
}

TESSERA_INLINE void refuse_synchronization(const synchronization& s, std::vector<std::string>& all) {
    if (s.average_every > 0) {
        all.push_back("the strategy averages copies of parameters every " + std::to_string(s.average_every) +
                      " steps instead of summing gradients");
    }
    if (s.compress != compression::none) {
        all.push_back(std::string("the strategy compresses gradients (") + to_text(s.compress) + ")");
    }
    if (s.staleness > 0) {
        all.push_back("updates come " + std::to_string(s.staleness) + " steps late (staleness)");
    }
}

TESSERA_INLINE void refuse_schedule(const pipeline_schedule& s, std::vector<std::string>& all) {
    for (const char x : s.mirrored) {
        if (x != 0) {
            all.push_back("the schedule runs micro-batches on a mirrored replica (Chimera, GEMS)");
            break;
        }
    }
}

TESSERA_INLINE void refuse_optimizer(const optimizer& o, std::vector<std::string>& all) {
    if (o.is_layerwise()) {
        all.push_back("the optimizer scales steps by norms of layers (LARS, LAMB), which torch.optim has not");
    }
    if (o.average != 0) {
        all.push_back("the optimizer keeps moving averages of the weights");
    }
    if (o.prunes) {
        all.push_back("the optimizer prunes weights");
    }
}

} // namespace tessera::torch::detail

namespace tessera::torch {

TESSERA_INLINE std::vector<std::string> refusals(const graph_view& g, const strategy_view& s, const optimizer& update) {
    std::vector<std::string> all;
    detail::refuse_operators(g, all);
    if (s.sync != nullptr) {
        detail::refuse_synchronization(*s.sync, all);
    }
    if (s.schedule != nullptr) {
        detail::refuse_schedule(*s.schedule, all);
    }
    detail::refuse_optimizer(update, all);
    if (s.parameters_on >= 0) {
        all.push_back("parameters are stored on device " + std::to_string(s.parameters_on) +
                      " alone and copied out in every step");
    }
    if (s.steps_per_plan > 1) {
        all.push_back("the plan covers " + std::to_string(s.steps_per_plan) + " steps");
    }
    if (g.tensors[0].extents[0] % s.micro_batches != 0) {
        all.push_back(std::to_string(s.micro_batches) + " micro-batches of different sizes, for " +
                      std::to_string(g.tensors[0].extents[0]) + " samples");
    }
    bool takes_statistics = false;
    for (int op = 0; op < g.op_count; ++op) {
        takes_statistics = takes_statistics || g.describe(op).has_running_state();
    }
    if (s.micro_batches > 1 && s.statistics == statistics_over::mini_batch && takes_statistics) {
        all.push_back("batch norms take their statistics over all micro-batches together; plan with statistics over "
                      "each micro-batch");
    }
    return all;
}

TESSERA_INLINE std::string refusal_text(const std::vector<std::string>& all) {
    std::string text = "tessera: the plan cannot be exported to PyTorch, and nothing was written:";
    for (const std::string& line : all) {
        text += "\n  " + line;
    }
    return text;
}

} // namespace tessera::torch

#include "tessera/base/end_header.inl"
