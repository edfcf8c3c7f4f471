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

/// Parameters stay where the whole strategy stores them; without a backward pass there are no micro-batches and no
/// stages that wait for each other. It all runs where the first micro-batch does.
prediction_setting setting_for(const graph_view& g, const strategy& s, const std::vector<int>& wanted);

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
std::vector<int> all_predictions(const graph_view& g);

} // namespace detail

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/prediction.inl"
#endif

#include "tessera/base/end_header.inl"
