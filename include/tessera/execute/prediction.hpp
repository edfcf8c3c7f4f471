// SPDX-License-Identifier: Apache-2.0
// What a prediction runs: the operators that the wanted tensors need, in the places that the strategy gives them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/net/paths.hpp"
#include "tessera/net/reduced.hpp"
#include "tessera/strategy/strategy.hpp"

#include <string>

namespace tessera {

/// A tensor of a prediction: elements in row-major order, the first extent being the samples.
struct prediction {
    shape extents;
    std::vector<float> values;
};

namespace detail {

/// A network and a strategy for it that make some tensors and nothing else.
struct prediction_setting {
    std::vector<int> wanted; ///< of the whole network
    reduced_network part;
    strategy how;
};

/// Parameters stay where the whole strategy stores them; without a backward pass there are no micro-batches and no stages that wait for each other. It
/// all runs where the first micro-batch does.
inline prediction_setting setting_for(const graph_view& g, const strategy& s, const std::vector<int>& wanted) {
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
        x.how.ops.push_back(s.ops[static_cast<std::size_t>(op)]);
        x.how.ops.back().stage = 0;
        x.how.ops.back().recompute = false;
    }
    x.how.micro_batches = 1;
    x.how.schedule = {};
    if (s.schedule.stages > 0 &&
        s.schedule.is_mirrored(0)) { // there may be no parameters but those of the mirrored replica
        x.how.schedule.stages = 1;
        x.how.schedule.workers = {{{0, 0, action_kind::forward}, {0, 0, action_kind::backward}}};
        x.how.schedule.mirrored = {1};
    }
    x.how.period = 1;
    return x;
}

/// What a network is usually asked for: what goes into its first loss; without one what its last operator makes.
constexpr int usual_prediction(const graph_view& g) {
    for (int op = 0; op < g.op_count; ++op) {
        if (g.is_loss(op)) {
            return g.ops[op].inputs[0];
        }
    }
    return g.ops[g.op_count - 1].output;
}

/// All that can be asked for: what goes into losses, and what nothing reads.
inline std::vector<int> all_predictions(const graph_view& g) {
    std::vector<char> read(static_cast<std::size_t>(g.tensor_count), 0);
    for (int op = 0; op < g.op_count; ++op) {
        for (const int t : g.ops[op].inputs) {
            char& mine = read[static_cast<std::size_t>(t)];
            mine = g.is_loss(op) ? mine : 1;
        }
    }
    std::vector<int> all;
    for (int op = 0; op < g.op_count; ++op) {
        if (!g.is_loss(op) && read[static_cast<std::size_t>(g.ops[op].output)] == 0) {
            all.push_back(g.ops[op].output);
        }
    }
    return all;
}

} // namespace detail

} // namespace tessera

#include "tessera/base/end_header.inl"
