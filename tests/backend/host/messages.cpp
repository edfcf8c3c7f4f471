// SPDX-License-Identifier: Apache-2.0
// Messages of several parameters on the host: what lies side by side is updated in one pass, with the bits of one by
// one.
#include "support/planned.hpp"
#include "support/refusal.hpp"
#include "support/same_numbers.hpp"

#include "tessera/host.hpp"
#include "tessera/schedule/blocking_all_reduce.hpp"
#include "tessera/schedule/buckets.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;
using host_session = ts::session<ts::host::backend>;

constexpr int devices = 2;

/// All gradients in one message, or each in one of its own.
ts::strategy in_messages(const ts::graph_view& g, bool fused) {
    const auto gradients = ts::schedule::gradients_of(g);
    return data_parallel(g, devices,
                         fused ? ts::schedule::buckets(gradients) : ts::schedule::blocking_all_reduce(gradients));
}

struct trained {
    ts::host::backend backend;
    ts::workers threads{devices};
    host_session it;
    trained(const ts::graph_view& g, bool fused, const ts::optimizer& update)
        : backend(update), it(g, in_messages(g, fused), devices, update, {}, backend, threads) {}

    /// Passes of every task that updates several parameters.
    std::vector<std::size_t> passes(const ts::optimizer& update) const {
        std::vector<std::size_t> all;
        const ts::plan& p = it.training_plan();
        for (const ts::task& t : p.tasks) {
            if (t.kind() == ts::task_kind::update && !t.params().parts.empty()) {
                all.push_back(
                    ts::host::detail::message_job(p, t, it.graph_of(), it.training_executor().memory(), update)
                        .passes());
            }
        }
        return all;
    }
    std::vector<std::vector<float>> parameters() const {
        std::vector<std::vector<float>> all;
        for (int i = 0; i < it.graph_of().parameter_count; ++i) {
            all.push_back(it.parameter(i));
        }
        return all;
    }
};

struct wide {
    struct first : ts::linear<48> {};
    struct second : ts::linear<32> {};
    struct head : ts::linear<16> {};
    struct network : ts::sequential<ts::features<32>, first, ts::relu, second, ts::relu, head, ts::cross_entropy> {};
};
/// Running statistics, which no gradient updates, are among its parameters.
struct normed {
    struct first : ts::conv2d<16, ts::window<3>> {};
    struct norm : ts::batch_norm<> {};
    struct head : ts::linear<16> {};
    struct network : ts::sequential<ts::image<16, 5, 5>, first, norm, ts::relu, ts::flatten, head, ts::cross_entropy> {
    };
};
/// Where nothing fills whole lines of a cache.
struct odd {
    struct first : ts::linear<9> {};
    struct head : ts::linear<5> {};
    struct network : ts::sequential<ts::features<7>, first, ts::relu, head, ts::cross_entropy> {};
};

} // namespace

TEST_CASE(
    "a message whose gradients, parameters and states lie side by side is updated in one pass, to the same bits") {
    const ts::optimizer rules[] = {ts::sgd{.learning_rate = 0.1F}, ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F},
                                   ts::adam{.learning_rate = 0.01F}};
    for (const ts::optimizer& how : rules) {
        const ts::graph networks[] = {ts::describe<wide::network>(8), ts::describe<normed::network>(8),
                                      ts::describe<odd::network>(8)};
        for (const ts::graph& network : networks) {
            const bool even = &network != &networks[2];
            CAPTURE(&network - networks);
            const ts::graph_view g = network.view();
            const batch_data data(g, 5);
            trained fused(g, true, how);
            trained apart(g, false, how);
            const std::vector<std::size_t> passes = fused.passes(how);
            REQUIRE(passes.size() == devices); // messages
            for (const std::size_t n : passes) {
                CHECK((n == 1) == (even && how.state_count() < 2));
            }
            for (int i = 0; i < 3; ++i) {
                CHECK(fused.it.step(data.inputs) == apart.it.step(data.inputs));
            }
            CHECK(fused.parameters() == apart.parameters());
        }
    }
}

TEST_CASE("of one pass over several parameters the one is named whose update is not finite") {
    const ts::graph network = ts::describe<wide::network>(8);
    const ts::graph_view g = network.view();
    const batch_data data(g, 5);
    const ts::optimizer how(ts::sgd{.learning_rate = 1.0F, .momentum = 0.9F, .weight_decay = 10.0F});
    trained s(g, true, how);
    REQUIRE(s.passes(how) == std::vector<std::size_t>(devices, 1));
    std::vector<float> bias(48, 0.0F); // of a channel that relu makes 0 for every sample
    bias[3] = -1e3F;
    s.it.set_parameter(1, bias);
    std::vector<float> weights = s.it.parameter(2);
    for (std::size_t row = 0; row < 32; ++row) {
        weights[row * 48 + 3] = 3e38F; // which decays by more than there are numbers for
    }
    s.it.set_parameter(2, weights);
    const std::vector<float> head = s.it.parameter(4);
    CHECK(contains(message_of([&] { s.it.step(data.inputs); }),
                   "the update of parameter second/weight in step 1 is not finite"));
    CHECK(s.it.parameter(2)[3] == 3e38F);
    CHECK(s.it.parameter(2)[4] != weights[4]);
    CHECK(s.it.parameter(4) != head);
}
