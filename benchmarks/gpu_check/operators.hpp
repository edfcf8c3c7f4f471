// SPDX-License-Identifier: Apache-2.0
// Part 2: single operators at the sizes of real networks, whole and in shards on one card: what their kernels take on the GPU, what the
// movement of data takes, and what a run takes above both, which is dispatch.
#pragma once

#include "support/one_operator.hpp"

#include "tessera/backend/cuda/backend.hpp"
#include "tessera/execute/executor.hpp"
#include "tessera/plan/finish.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace gpu_check {

namespace ts = tessera;

template <class What>
double milliseconds(What&& what) {
    const auto begin = std::chrono::steady_clock::now();
    what();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

inline double median(std::vector<double> x) {
    std::sort(x.begin(), x.end());
    return x.empty() ? 0 : x[x.size() / 2];
}

/// Milliseconds of a plan's calls: arithmetic, and movement (uploads, copies of boxes).
struct call_times {
    double kernels = 0;
    double movement = 0;
    int calls = 0;
};

inline call_times times_of(const ts::cuda::call_list& list, const std::vector<double>& each) {
    call_times t;
    for (std::size_t i = 0; i < list.calls.size(); ++i) {
        const ts::cuda::call& c = list.calls[i];
        const auto* k = std::get_if<ts::cuda::kernel_launch>(&c.body);
        const bool moves = std::holds_alternative<ts::cuda::upload>(c.body) ||
                           std::holds_alternative<ts::cuda::memory_copy>(c.body) ||
                           std::holds_alternative<ts::cuda::memory_clear>(c.body) ||
                           (k != nullptr && k->which <= ts::cuda::kernel_id::strided_copy_i32);
        (moves ? t.movement : t.kernels) += each[i];
        ++t.calls;
    }
    return t;
}

/// The operator's loop `name` split in `degree`; 1 where it has no such loop.
inline void time_operator(const tests::op_case& row, ts::loop_name name, int degree) {
    const ts::graph network = test_support::graph_of(row);
    const ts::graph_view g = network.view();
    ts::strategy s(g);
    const ts::description d = g.describe(0);
    const int loop = d.find_loop(name);
    if (degree > 1 && (loop < 0 || !ts::splittable(d, loop))) {
        return;
    }
    if (degree > 1) {
        s.ops[0].degree[loop] = degree;
        s.ops[0].reduces = true;
    }
    const test_support::batch_data data(g, 3);
    ts::lower_options o;
    o.keep_gradients = true;
    o.output_gradient = g.tensor_count - 1;
    ts::cuda::backend backend({}, {.gpus = std::vector<int>(static_cast<std::size_t>(degree), 0)});
    ts::plan p = ts::lower(g, s.view(), degree, o);
    backend.bind(p, g, nullptr);
    ts::finish(g, p);
    ts::workers threads(degree);
    const ts::parameter_store store(p, backend.memory());
    ts::executor<ts::cuda::backend> run(backend, threads, g, static_cast<ts::plan&&>(p), store);
    ts::run_state state;
    state.learning_rate = 0;
    std::vector<const void*> pointers(static_cast<std::size_t>(g.tensor_count), nullptr);
    for (std::size_t k = 0; k < data.tensors.size(); ++k) {
        pointers[static_cast<std::size_t>(data.tensors[k])] = data.inputs[k].data;
    }
    state.inputs = pointers.data();
    std::vector<double> walls;
    for (int i = 0; i < 24; ++i) {
        const double t = milliseconds([&] { run.run(state); });
        if (i >= 4) {
            walls.push_back(t);
        }
    }
    const call_times t = times_of(backend.calls(run.memory()), backend.time_calls(run.memory(), state, 10));
    const double wall = median(walls);
    std::printf("%-34s %-10s %7d %10.3f %10.3f %10.3f %10.3f\n", row.name.c_str(),
                degree == 1 ? "whole" : (std::string(ts::to_text(name)) + "/" + std::to_string(degree)).c_str(),
                t.calls, t.kernels, t.movement, wall, wall - t.kernels - t.movement);
    std::fflush(stdout);
}

inline std::vector<tests::op_case> large_rows() {
    using ts::make_shape;
    using ts::op_kind;
    return {
        {"conv2d 64x64x56x56 to 64, 3x3",
         {.kind = op_kind::conv2d, .out = 64, .window = {3, 3}, .padding = {1, 1}},
         {make_shape(64, 64, 56, 56)}},
        {"conv2d 64x256x14x14 to 1024, 1x1", {.kind = op_kind::conv2d, .out = 1024}, {make_shape(64, 256, 14, 14)}},
        {"conv2d 64x3x224x224 to 64, 7x7/2",
         {.kind = op_kind::conv2d, .out = 64, .window = {7, 7}, .stride = {2, 2}, .padding = {3, 3}, .bias = true},
         {make_shape(64, 3, 224, 224)}},
        {"linear 256x4096 to 4096", {.kind = op_kind::linear, .out = 4096, .bias = true}, {make_shape(256, 4096)}},
        {"max_pool 64x64x112x112, 3x3/2",
         {.kind = op_kind::max_pool, .window = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
         {make_shape(64, 64, 112, 112)}},
        {"average_pool 64x64x56x56, 2x2/2",
         {.kind = op_kind::average_pool, .window = {2, 2}, .stride = {2, 2}},
         {make_shape(64, 64, 56, 56)}},
        {"global_average_pool 64x2048x7x7", {.kind = op_kind::global_average_pool}, {make_shape(64, 2048, 7, 7)}},
        {"relu 64x256x56x56", {.kind = op_kind::relu}, {make_shape(64, 256, 56, 56)}},
        {"sigmoid 64x256x28x28", {.kind = op_kind::sigmoid}, {make_shape(64, 256, 28, 28)}},
        {"tanh 64x256x28x28", {.kind = op_kind::tanh}, {make_shape(64, 256, 28, 28)}},
        {"gelu 64x256x28x28", {.kind = op_kind::gelu}, {make_shape(64, 256, 28, 28)}},
        {"add 64x256x56x56", {.kind = op_kind::add}, {make_shape(64, 256, 56, 56), make_shape(64, 256, 56, 56)}},
        {"multiply 64x256x28x28",
         {.kind = op_kind::multiply},
         {make_shape(64, 256, 28, 28), make_shape(64, 256, 28, 28)}},
        {"concat of two 64x128x28x28",
         {.kind = op_kind::concat},
         {make_shape(64, 128, 28, 28), make_shape(64, 128, 28, 28)}},
        {"dropout 256x4096", {.kind = op_kind::dropout, .percent = 50}, {make_shape(256, 4096)}},
        {"channel_dropout 64x256x28x28",
         {.kind = op_kind::channel_dropout, .percent = 20},
         {make_shape(64, 256, 28, 28)}},
        {"batch_norm 64x256x28x28", {.kind = op_kind::batch_norm}, {make_shape(64, 256, 28, 28)}},
        {"cross_entropy 256x1000", {.kind = op_kind::cross_entropy}, {make_shape(256, 1000), make_shape(256)}},
    };
}

inline int operators() {
    std::printf("forward and backward together, fp32 without TF32; milliseconds\n");
    std::printf("%-34s %-10s %7s %10s %10s %10s %10s\n", "operator", "split", "calls", "kernels", "movement", "run",
                "dispatch");
    for (const tests::op_case& row : large_rows()) {
        time_operator(row, ts::loop_name::sample, 1);
        time_operator(row, ts::loop_name::sample, 2);
        time_operator(row, ts::loop_name::channel, 2);
        time_operator(row, ts::loop_name::height, 2);
    }
    return 0;
}

} // namespace gpu_check
