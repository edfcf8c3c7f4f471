// SPDX-License-Identifier: Apache-2.0
// Law 6 for the CUDA backend, without a GPU: under any strategy and any placement of its devices on GPUs, the list of calls computes
// what one device computes. The vendor's functions are taken at their word; ours run as they are written.
#include "support/cuda_emulated_backend.hpp"
#include "support/cuda_lists.hpp"
#include "support/sweep.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

constexpr double allowed = 1e-4;

} // namespace

TEST_CASE("random strategies give the numbers of one device, on one GPU and on several") {
    coverage seen;
    const int strategies = strategy_count(3);
    int kind = 0;
    for (const sweep_case& c : sweep_cases()) {
        double worst[3] = {};
        sweep(
            c, strategies, seen,
            [&](const ts::optimizer& how) { return emulated_backend(how, gpu_placement(8, kind++ / 2 % 3)); },
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
                worst[0] = std::max(worst[0], r.seen.loss);
                worst[1] = std::max(worst[1], r.seen.gradient);
                worst[2] = std::max(worst[2], r.seen.change);
            });
        MESSAGE(c.name << ": largest relative difference of losses " << worst[0] << ", gradients " << worst[1]
                       << ", changes of weights " << worst[2]);
    }
}

TEST_CASE("data parallel updates by reduce-scatter and all-gather give the same numbers, in any order of the streams") {
    const ts::optimizer plain(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F});
    const ts::optimizer adam(ts::adam{.learning_rate = 0.01F});
    const ts::optimizer clipped(ts::sgd{.learning_rate = 0.1F}, 0.05F);
    const std::vector<ts::graph> networks{ts::describe<test_networks::mlp::network>(8),
                                          ts::describe<test_networks::residual_net::network>(8)};
    for (const ts::graph& network : networks) {
        for (const ts::optimizer& how : {plain, adam, clipped}) {
            for (const int devices : {2, 4}) {
                const ts::graph_view g = network.view();
                ts::strategy s(g);
                for (ts::configuration& c : s.ops) {
                    c.degree[0] = devices;
                    c.reduces = true;
                }
                const batch_data data(g, 7);
                const oracle expected(g, data, how, 4, 11);
                emulated_backend backend(how, gpu_placement(devices, 1));
                ts::workers threads(devices);
                ts::session_options options;
                options.seed = 11;
                ts::session<emulated_backend> session(g, s, devices, how, options, backend, threads);
                CAPTURE(devices);
                CHECK(backend.count_collectives() > 0);
                for (double loss : expected.losses) {
                    CHECK(session.step(data.inputs) == doctest::Approx(loss).epsilon(1e-5));
                }
                for (int p = 0; p < g.parameter_count; ++p) {
                    for (const auto& a : session.parameter_copies(p)) {
                        CHECK(a.second == session.parameter_copies(p)[0].second);
                    }
                }
            }
        }
    }
}
