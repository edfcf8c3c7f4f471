// SPDX-License-Identifier: Apache-2.0
// What the CUDA backend must do on any machine that has GPUs, or makes believe that it has.
#pragma once

#include "support/cuda_lists.hpp"
#include "support/pipeline_sweep.hpp"

#include "tessera/cuda.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace cuda_runs {

namespace ts = tessera;
using namespace test_support;

/// Random strategies on 1 to 8 devices, placed on GPUs by `kinds` ways in turn.
inline void same_numbers(int strategies, int kinds, bool graph = false) {
    constexpr double allowed = 1e-4;
    coverage seen;
    int kind = 0;
    for (const sweep_case& c : sweep_cases()) {
        sweep(
            c, strategies, seen,
            [&](const ts::optimizer& how) {
                return ts::cuda::backend(
                    how, {.gpus = gpu_placement(8, kind++ / 2 % kinds), .measure = false, .graph = graph});
            },
            [&](const sweep_case& of, int number, int devices, const sweep_result& r) {
                CAPTURE(of.name);
                CAPTURE(number);
                CAPTURE(devices);
                CAPTURE(r.seen.worst);
                CHECK(r.failure == "");
                CHECK(r.seen.loss <= allowed);
                CHECK(r.seen.gradient <= allowed);
                CHECK(r.seen.change <= allowed);
                CHECK(r.seen.copies_equal);
                CHECK(r.repeats);
            });
    }
}

/// Random pipelines on 1 to 4 devices, placed on GPUs by `kinds` ways in turn, every other one replayed from a graph where `graphs`.
inline void pipelines(int count, int kinds, bool graphs) {
    coverage seen;
    int run = 0;
    for (const sweep_case& c : sweep_cases()) {
        const double allowed = c.how.which == ts::optimizer::kind::adam ? 1e-3 : 1e-4;
        sweep_pipelines(
            c, count, seen,
            [&](const ts::optimizer& how) {
                const int number = run++ / 2;
                return ts::cuda::backend(
                    how,
                    {.gpus = gpu_placement(4, number % kinds), .measure = false, .graph = graphs && number % 2 == 1});
            },
            [&](const sweep_case& of, const pipeline_case& p, int devices, const sweep_result& r) {
                CAPTURE(of.name);
                CAPTURE(p.schedule);
                CAPTURE(p.stages);
                CAPTURE(p.how.micro_batches);
                CAPTURE(devices);
                CAPTURE(r.seen.worst);
                CHECK(r.failure == "");
                CHECK(r.seen.loss <= allowed);
                CHECK(r.seen.gradient <= allowed);
                CHECK(r.seen.change <= allowed);
                CHECK(r.seen.copies_equal);
                CHECK(r.repeats);
            });
    }
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
    ts::trainer<small> trainer(devices, s, 8, ts::optimizer(ts::sgd{.learning_rate = 0.2F}));
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
    ts::sharded<conv, ts::split<ts::height, 2>> op(devices, ts::make_shape(4, 3, 8, 8));
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
}

} // namespace cuda_runs
