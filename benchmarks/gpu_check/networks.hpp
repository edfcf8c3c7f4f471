// SPDX-License-Identifier: Apache-2.0
// Part 3: training steps of whole networks: the step, call by call and replayed from a CUDA graph, over the sum of its calls' times
// alone; and PyTorch's step on the same card in the same run. Inputs come from the processor's memory in every step, on both sides.
#pragma once

#include "benchmarks/gpu_check/operators.hpp"
#include "examples/networks.hpp"

#include "tessera/execute/session.hpp"

#include <cstdlib>
#include <string>

namespace gpu_check {

/// The peer's milliseconds for a network, eager and compiled; 0 where it cannot run.
struct peer_times {
    double eager = 0;
    double compiled = 0;
};

inline peer_times ask_peer(const std::string& script, const char* network, int batch) {
    peer_times t;
    if (script.empty()) {
        return t;
    }
    const std::string command = "python3 '" + script + "' " + network + " " + std::to_string(batch);
    FILE* answer = popen(command.c_str(), "r");
    if (answer != nullptr) {
        if (std::fscanf(answer, "%lf %lf", &t.eager, &t.compiled) != 2) {
            t = {};
        }
        (void)pclose(answer);
    }
    return t;
}

/// One session on GPU 0.
struct step_times {
    double build = 0; ///< seconds until it can step
    double step = 0;
    call_times calls;
};

inline step_times time_session(const ts::graph_view& g, const test_support::batch_data& data, bool graph) {
    step_times t;
    const ts::optimizer how(ts::sgd{.learning_rate = 0.001F, .momentum = 0.9F});
    ts::cuda::backend backend(how, {.gpus = {0}, .graph = graph});
    ts::workers threads(1);
    std::unique_ptr<ts::session<ts::cuda::backend>> session;
    t.build = milliseconds([&] {
                  session = std::make_unique<ts::session<ts::cuda::backend>>(g, ts::strategy(g), 1, how,
                                                                             ts::session_options{}, backend, threads);
              }) /
              1000;
    std::vector<double> walls;
    for (int i = 0; i < 25; ++i) {
        const double wall = milliseconds([&] { session->step(data.inputs); });
        if (i >= 5) {
            walls.push_back(wall);
        }
    }
    t.step = median(walls);
    if (!graph) {
        const ts::addresses& where = session->training_executor().memory();
        std::vector<const void*> pointers(static_cast<std::size_t>(g.tensor_count), nullptr);
        for (std::size_t k = 0; k < data.tensors.size(); ++k) {
            pointers[static_cast<std::size_t>(data.tensors[k])] = data.inputs[k].data;
        }
        ts::run_state state;
        state.inputs = pointers.data();
        t.calls = times_of(backend.calls(where), backend.time_calls(where, state, 5));
    }
    return t;
}

template <class Net>
void time_network(const char* name, int batch, const std::string& peer) {
    const ts::graph network = ts::describe<Net>(batch);
    const test_support::batch_data data(network.view(), 1);
    const step_times plain = time_session(network.view(), data, false);
    const step_times graph = time_session(network.view(), data, true);
    const peer_times other = ask_peer(peer, name, batch);
    const double best = std::min(plain.step, graph.step);
    std::printf("%-10s %6d %8.1f %7d %10.3f %10.3f %10.3f %10.3f %8.3f", name, batch, plain.build, plain.calls.calls,
                plain.calls.kernels, plain.calls.movement, plain.step, graph.step,
                best / (plain.calls.kernels + plain.calls.movement));
    if (other.eager > 0) {
        std::printf(" %10.3f %10.3f %8.2f", other.eager, other.compiled, std::min(other.eager, other.compiled) / best);
    }
    std::printf("\n");
    std::fflush(stdout);
}

inline int all_networks(const std::string& peer) {
    std::printf("training steps, SGD with momentum, fp32 without TF32; milliseconds, medians of 20\n");
    std::printf("%-10s %6s %8s %7s %10s %10s %10s %10s %8s %10s %10s %8s\n", "network", "batch", "build s", "calls",
                "kernels", "movement", "step", "graph", "ratio", "torch", "compiled", "speed-up");
    time_network<networks::lenet5>("lenet5", 256, peer);
    time_network<networks::mlp>("mlp", 256, peer);
    time_network<networks::alexnet_without_dropout>("alexnet", 128, peer);
    time_network<networks::resnet50>("resnet50", 64, peer);
    time_network<networks::vgg16>("vgg16", 32, peer);
    return 0;
}

} // namespace gpu_check
