// SPDX-License-Identifier: Apache-2.0
// Random networks, splits and pipelines under every synchronization policy: a case for each number.
#pragma once

#include "networks.hpp"
#include "planned.hpp"
#include "policies.hpp"
#include "random_pipeline.hpp"

#include <string>
#include <utility>
#include <vector>

namespace test_support {

struct message_case {
    ts::graph network;
    ts::strategy how;
    ts::optimizer update;
    int devices = 1;
    std::string name;
};

/// Policies take turns, and every gradient by itself. A third of the cases is data parallel, on 2 to 4 devices, so that
/// all parameters have copies.
inline message_case random_messages(int number, coverage& seen) {
    namespace n = test_networks;
    message_case c;
    const int which = number % 5;
    c.network = which == 0   ? ts::describe<n::mlp::network>(6)
                : which == 1 ? ts::describe<n::residual_net::network>(4)
                : which == 2 ? ts::describe<n::unet::network>(4)
                : which == 3 ? ts::describe<n::recurrent::network>(4)
                             : ts::describe<n::transformer::network>(4);
    const ts::graph_view g = c.network.view();
    c.devices = 2 + number % 3;
    c.how = number % 3 == 0 ? data_parallel(g, c.devices)
                            : random_pipeline(g, c.devices, 9100 + static_cast<std::uint64_t>(number), seen).how;
    const auto policies = small_policies(g, c.devices);
    const auto policy = ts::to_size(number) % (policies.size() + 1);
    c.name = "every gradient by itself";
    if (policy < policies.size()) {
        c.name = policies[policy].first;
        c.how.sync = policies[policy].second;
    }
    c.update = ts::optimizer(ts::sgd{.momentum = 0.9F}, number % 4 == 1 ? 1.0F : 0.0F);
    c.how.state_on_host = number / 3 % 4 == 1;
    return c;
}

} // namespace test_support
