// SPDX-License-Identifier: Apache-2.0
// What tests of the CUDA backend on make-believe GPUs share.
#pragma once

#include "support/cuda_fake_machine.hpp"
#include "support/cuda_runs.hpp"

#include <string>

namespace test_support {

template <class Do>
std::string message_of(Do what) {
    try {
        what();
    } catch (const ts::error& e) {
        return e.what();
    }
    return "nothing thrown";
}

/// Data parallel over several GPUs.
struct on_gpus {
    ts::graph network = ts::describe<test_networks::mlp::network>(8);
    batch_data data{network.view(), 7};
    ts::strategy strategy{network.view()};
    ts::optimizer how{ts::sgd{.learning_rate = 0.1F}};
    int devices;
    ts::cuda::backend backend;
    ts::workers threads;

    on_gpus(int n, const ts::cuda::backend_options& options) : devices(n), backend(how, options), threads(n) {
        for (ts::configuration& c : strategy.ops) {
            c.degree[0] = n;
        }
    }
    ts::session<ts::cuda::backend> session() {
        return ts::session<ts::cuda::backend>(network.view(), strategy, devices, how, {.seed = 11}, backend, threads);
    }
};
struct two_gpus : on_gpus {
    two_gpus() : on_gpus(2, {.gpus = {1, 0}, .measure = false}) {}
};

} // namespace test_support
