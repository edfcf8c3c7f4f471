// SPDX-License-Identifier: Apache-2.0
// The same numbers as one device from the CUDA backend, without a GPU: under any strategy and any placement of its
// devices on GPUs, the list of calls computes what one device computes. The vendor's functions are taken at their word;
// ours run as they are written.
#include "support/cuda_instances.hpp"
#include "support/cuda_lists.hpp"
#include "support/planned.hpp"
#include "support/sweep_check.hpp"

#include "tessera/net/precision.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

} // namespace

TEST_CASE("random strategies give the numbers of one device, on one GPU and on several") {
    hold_strategies(strategy_count(2), [](const ts::optimizer& update, int run) {
        return emulated_backend(update, gpu_placement(8, run % 3));
    });
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
                const ts::strategy s = data_parallel(g, devices);
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

TEST_CASE("networks in tf32 and bf16 give the numbers of one device in that precision, under several strategies") {
    const ts::optimizer how(ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F}, 0, 256);
    std::vector<ts::graph> networks{
        ts::describe<test_networks::lenet5::network>(4), ts::describe<test_networks::residual_net::network>(4),
        ts::describe<test_networks::mlp::network>(8), ts::describe<test_networks::transformer::network>(4)};
    constexpr double allowed_loss[] = {1e-5, 2e-3, 2e-2};
    // Of all gradients together, in the first step and in the second. Of elements that rounding makes equal, or other,
    // a window of LeNet's pools may find another maximum, and its gradient goes elsewhere.
    constexpr double allowed_joint[][2] = {{1e-4, 1e-4}, {5e-3, 1e-2}, {3e-2, 5e-2}};
    constexpr double with_pools = 0.1;
    double worst[3][2] = {};
    for (ts::graph& network : networks) {
        for (const ts::precision math : {ts::precision::tf32, ts::precision::bf16}) {
            ts::set_precision(network, math);
            const ts::graph_view g = network.view();
            const batch_data data(g, 7);
            const oracle expected(g, data, how, 2, 16);
            coverage seen;
            for (int i = 0; i < 4; ++i) {
                const int devices = 1 + i;
                const ts::strategy s =
                    i == 0 ? ts::strategy(g) : random_strategy(g, devices, 70 + static_cast<std::uint64_t>(i), seen);
                emulated_backend backend(how, gpu_placement(devices, i % 3));
                ts::workers threads(devices);
                ts::session_options options;
                options.seed = 16;
                options.keep_gradients = true;
                ts::session<emulated_backend> session(g, s, devices, how, options, backend, threads);
                const comparison c = compare(session, g, data, expected);
                const auto k = static_cast<std::size_t>(math);
                CAPTURE(std::string(ts::to_text(math)));
                CAPTURE(devices);
                CAPTURE(c.worst);
                CHECK(c.loss <= allowed_loss[k]);
                for (std::size_t step = 0; step < 2; ++step) {
                    const bool pools = &network == &networks[0] && math == ts::precision::bf16;
                    CHECK(c.joint.at(step) <= (pools ? with_pools : allowed_joint[k][step]));
                    worst[k][step] = std::max(worst[k][step], c.joint[step]);
                }
                CHECK(c.copies_equal);
            }
        }
    }
    MESSAGE("largest relative difference of all gradients together, first and second step: tf32 "
            << worst[1][0] << " " << worst[1][1] << ", bf16 " << worst[2][0] << " " << worst[2][1]);
}

TEST_CASE("fused calls give the numbers of plain ones") {
    const ts::optimizer how(ts::sgd{.learning_rate = 0.1F});
    for (const ts::graph& network :
         {ts::describe<test_networks::lenet5::network>(4), ts::describe<test_networks::mlp::network>(8)}) {
        const ts::graph_view g = network.view();
        const batch_data data(g, 9);
        coverage seen;
        for (const int devices : {1, 3}) {
            const ts::strategy s = devices == 1 ? ts::strategy(g) : random_strategy(g, devices, 5, seen);
            std::vector<std::vector<float>> weights[2];
            int activated = 0;
            for (const bool fuse : {false, true}) {
                emulated_backend backend(how, gpu_placement(devices, 0), fuse);
                ts::workers threads(devices);
                ts::session<emulated_backend> session(g, s, devices, how, {.seed = 4}, backend, threads);
                for (int i = 0; i < 3; ++i) {
                    session.step(data.inputs);
                }
                for (int p = 0; p < g.parameter_count; ++p) {
                    weights[fuse ? 1 : 0].push_back(session.parameter(p));
                }
                backend.each_call([&](const ts::cuda::call& c) {
                    const auto* m = std::get_if<ts::cuda::matrix_product>(&c.body);
                    activated += m != nullptr && (m->positive || m->sums) ? 1 : 0;
                });
                CHECK((fuse || activated == 0));
            }
            CHECK(activated > 0);
            for (std::size_t p = 0; p < weights[0].size(); ++p) {
                const std::vector<double> a(weights[0][p].begin(), weights[0][p].end());
                const std::vector<double> b(weights[1][p].begin(), weights[1][p].end());
                CHECK(relative(b, a, 1e-6) < 1e-6);
            }
        }
    }
}
