// SPDX-License-Identifier: Apache-2.0
// What the CUDA backend must do on any machine that has GPUs, or makes believe that it has.
#pragma once

#include "support/cuda_lists.hpp"
#include "support/sweep_check.hpp"

#include "tessera/cuda.hpp"
#include "tessera/net/precision.hpp"

#include <doctest/doctest.h>

#include <vector>

extern template class tessera::session<tessera::cuda::backend>; // in cuda_gpu_instances.cpp

namespace cuda_runs {

namespace ts = tessera;
using namespace test_support;

/// Random strategies on 1 to 8 devices, placed on GPUs by `kinds` ways in turn.
inline void same_numbers(int strategies, int kinds, bool graph = false) {
    hold_strategies(strategies, [&](const ts::optimizer& update, int run) {
        return ts::cuda::backend(update, {.gpus = gpu_placement(8, run % kinds), .measure = false, .graph = graph});
    });
}

/// Random pipelines on 1 to 4 devices, placed on GPUs by `kinds` ways in turn, every other one replayed from a graph
/// where `graphs`.
inline void pipelines(int count, int kinds, bool graphs) {
    hold_pipelines(
        count,
        [&](const ts::optimizer& update, int run) {
            return ts::cuda::backend(
                update, {.gpus = gpu_placement(4, run % kinds), .measure = false, .graph = graphs && run % 2 == 1});
        },
        allowed_rounding_with_adam);
}

struct fc1 : ts::linear<16> {};
struct fc2 : ts::linear<4> {};
struct small : ts::sequential<ts::features<6>, fc1, ts::relu, fc2, ts::cross_entropy> {};

/// A trainer learns, evaluates, and takes a short batch.
inline void trainer() {
    const ts::cuda::devices devices(2);
    const ts::graph g = ts::describe<small>(8);
    ts::strategy s(g.view());
    s.ops[0].degree[1] = 2;
    ts::trainer<small, ts::cuda::backend> trainer(devices, s, 8, ts::optimizer(ts::sgd{.learning_rate = 0.2F}));
    const batch_data data(g.view(), 5);
    const double first = trainer.step(std::span<const ts::input_data>(data.inputs));
    double last = first;
    for (int i = 0; i < 60; ++i) {
        last = trainer.step(std::span<const ts::input_data>(data.inputs));
    }
    CHECK(last < first * 0.7);
    const std::vector<ts::input_data> some{std::span<const float>(data.numbers[0].data(), 3 * 6),
                                           std::span<const std::int32_t>(data.labels[1].data(), 3)};
    CHECK(std::isfinite(trainer.step(std::span<const ts::input_data>(some))));
    const ts::evaluation e = trainer.values().evaluate(data.inputs);
    CHECK(e.rows == 8);
    CHECK(e.loss == doctest::Approx(last).epsilon(0.3));
}

/// One operator in shards runs forward and backward as often as wanted.
inline void sharded() {
    struct conv : ts::conv2d<8, ts::window<3>, ts::padding<1>> {};
    const ts::cuda::devices devices(2);
    ts::sharded_on<ts::cuda::backend, conv, ts::split<ts::height, 2>> op(devices, ts::make_shape(4, 3, 8, 8));
    for (int i = 0; i < 3; ++i) {
        op.forward();
        op.backward();
    }
    const std::vector<float> once = op.gradient(0);
    double size = 0;
    for (float x : once) {
        size += std::abs(static_cast<double>(x));
    }
    CHECK(size > 0);
    op.backward();
    CHECK(op.gradient(0) == once);
    // In bf16 the floats of the caller are rounded on the GPU. Halves of rows with their halos do not lie in a row: a
    // convolution that hands them on says whether they came as they should.
    ts::sharded_on<ts::cuda::backend, conv, ts::split<ts::height, 2>> low(devices, ts::make_shape(4, 3, 8, 8),
                                                                          ts::precision::bf16);
    std::vector<float> weights(8 * 3 * 3 * 3, 0.0F);
    for (std::size_t k = 0; k < 3; ++k) {
        weights[(k * 3 + k) * 9 + 4] = 1; // output channel k is input channel k
    }
    low.set_parameter(0, weights);
    low.set_parameter(1, std::vector<float>(8, 0.0F));
    for (int step = 0; step < 2; ++step) {
        for (std::size_t i = 0; i < low.input().size(); ++i) {
            low.input()[i] = static_cast<float>(ts::op::mix(i + ts::to_size(step)) >> 44U) / 1048576.0F;
        }
        low.forward();
        const std::vector<float> out = low.output();
        for (std::size_t i = 0; i < low.input().size(); ++i) {
            const std::size_t plane = 64;
            const float y = out[i / (3 * plane) * 8 * plane + i % (3 * plane)];
            const float x = ts::bfloat16(low.input()[i]);
            if (std::abs(y - x) > 0.004F * x + 1e-6F) { // a unit in the last place
                CAPTURE(i);
                CHECK(y == x);
            }
        }
    }
}

/// Networks in a precision on two devices against one device in that precision: two steps and an evaluation.
/// `look(backend)` after each.
template <class Look>
void precision(ts::precision math, const std::vector<int>& gpus, Look&& look) {
    // Of all gradients of the first step together. Of elements that rounding makes equal a pool may take another one.
    constexpr double allowed[] = {1e-4, 1e-2, 0.1};
    const double bound = allowed[static_cast<int>(math)];
    const ts::optimizer how(ts::sgd{.learning_rate = 0.05F}, 0, 64);
    ts::workers threads(2);
    std::vector<ts::graph> networks{ts::describe<test_networks::lenet5::network>(4),
                                    ts::describe<test_networks::residual_net::network>(4),
                                    ts::describe<test_networks::transformer::network>(4)};
    for (ts::graph& network : networks) {
        ts::set_precision(network, math);
        const ts::graph_view g = network.view();
        const batch_data data(g, 7);
        const oracle expected(g, data, how, 2, 11);
        ts::strategy s(g);
        s.ops[0].degree[0] = 2;
        s.ops[0].reduces = true;
        ts::cuda::backend backend(how, {.gpus = gpus, .most_workspace = 65536});
        ts::session<ts::cuda::backend> session(g, s, 2, how, {.seed = 11, .keep_gradients = true}, backend, threads);
        const comparison c = compare(session, g, data, expected);
        CAPTURE(std::string(ts::to_text(math)));
        CAPTURE(c.worst);
        CHECK(c.joint.at(0) <= bound);
        look(backend);
        const ts::evaluation e = session.evaluate(data.inputs);
        ts::reference::network one(g);
        for (int p = 0; p < g.parameter_count; ++p) {
            const std::vector<float> w = session.parameter(p);
            one.parameters[ts::to_size(p)].assign(w.begin(), w.end());
        }
        for (std::size_t k = 0; k < data.tensors.size(); ++k) {
            if (data.labels[k].empty()) {
                one.set(data.tensors[k], std::span<const float>(data.numbers[k]));
            } else {
                one.set(data.tensors[k], std::span<const std::int32_t>(data.labels[k]));
            }
        }
        CHECK(e.loss == doctest::Approx(one.evaluate()).epsilon(bound));
    }
}

} // namespace cuda_runs
