// SPDX-License-Identifier: Apache-2.0
// Random networks with an optimizer.
#pragma once

#include "random_network.hpp"

#include "tessera/op/optimizer.hpp"

namespace test_support {

/// A random network and how it is trained.
struct random_case {
    ts::graph network;
    ts::optimizer how;
    ts::index_t short_batch = 1;
    std::uint64_t seed = 0;

    explicit random_case(std::uint64_t number, drawn_from which = drawn_from::all)
        : network(random_network(number, 9, which)), seed(number) {
        random pick{ts::op::mix(number ^ 0x0b71ULL)};
        const int kind = pick(5);
        const float clip = pick(3) == 0 ? 0.05F : 0.0F;
        const float scale = pick(4) == 0 ? 64.0F : 1.0F;
        if (kind < 2) {
            how = ts::optimizer(ts::sgd{.learning_rate = 0.05F, .weight_decay = kind == 1 ? 0.01F : 0.0F}, clip, scale);
        } else if (kind < 4) {
            how = ts::optimizer(ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F, .weight_decay = 0.01F}, clip, scale);
        } else {
            how = ts::optimizer(ts::adam{.learning_rate = 0.01F, .epsilon = 1e-3F}, clip, scale);
        }
        if (which == drawn_from::all) { // there were no others when plans were recorded
            draw_other(random{ts::op::mix(number ^ 0x1a5bULL)}, clip, scale);
        }
        short_batch = 1 + pick(static_cast<int>(network.tensors[0].extents[0]));
    }

private:
    /// More than every second network is trained by another optimizer, or with clipped elements, averages or rates by
    /// group.
    void draw_other(random pick, float clip, float scale) {
        switch (pick(12)) {
        case 0:
            how = ts::optimizer(ts::adamw{.learning_rate = 0.01F, .epsilon = 1e-3F, .weight_decay = 0.1F}, clip, scale);
            return;
        case 1:
            how = ts::optimizer(ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F, .nesterov = true}, clip, scale);
            return;
        case 2:
            how = ts::optimizer(ts::rmsprop{.epsilon = 0.1F, .momentum = pick(2) == 0 ? 0.9F : 0.0F, .centered = true},
                                clip, scale);
            return;
        case 3:
            how = ts::optimizer(ts::lars{.weight_decay = 0.01F, .trust_coefficient = 0.1F, .nesterov = pick(2) == 0},
                                clip, scale);
            return;
        case 4:
            how = ts::optimizer(ts::lamb{.learning_rate = 0.01F, .epsilon = 1e-3F}, clip, scale);
            return;
        case 5:
            how = (pick(2) == 0 ? how.averaging(0.9F) : how).clipped_to(0.01F);
            return;
        case 6: // biases and what norms have, where there are any
            for (const ts::parameter_node& p : network.parameters) {
                if (how.groups.empty() && p.trained && p.extents.rank == 1) {
                    how.groups.push_back({.rate = 0.5F, .decay = 0});
                }
            }
            return;
        default:
            return;
        }
    }
};

} // namespace test_support
