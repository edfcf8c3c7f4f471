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
        short_batch = 1 + pick(static_cast<int>(network.tensors[0].extents[0]));
    }
};

} // namespace test_support
