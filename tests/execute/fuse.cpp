// SPDX-License-Identifier: Apache-2.0
// Sessions that fuse expressions have the numbers of sessions that do not, and what is asked of them by layer is there.
#include "support/expression_networks.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#ifdef TESSERA_TEST_HOST
#include "support/host_formats.hpp"
#include "tessera/host.hpp"
#endif

#include <doctest/doctest.h>

using namespace test_support;

namespace {

void report(const fusion_findings& found) {
    for (const std::string& w : found.wrong) {
        FAIL_CHECK(w);
    }
    CHECK(found.fused * 2 > found.pairs);
    CHECK(found.refused * 10 < found.pairs);
    MESSAGE(found.fused << " of " << found.pairs << " fuse something, largest relative difference " << found.worst);
}

} // namespace

TEST_CASE("one device in double has the same numbers of a network and of the network fused") {
    int changed = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const expression_network x = expression_maker(seed).run();
        const ts::graph_view g = x.network.view();
        const ts::fused_network fused = ts::fuse(g, ts::strategy(g));
        changed += fused.is_changed() ? 1 : 0;
        const batch_data data(g, seed);
        const batch_data of_fused(fused.network.view(), seed); // inputs keep their order
        const ts::optimizer how(ts::sgd{.learning_rate = 0.1F});
        const oracle a(g, data, how, 2, seed);
        const oracle b(fused.network.view(), of_fused, how, 2, seed);
        CAPTURE(seed);
        for (std::size_t i = 0; i < a.losses.size(); ++i) {
            CHECK(b.losses[i] == doctest::Approx(a.losses[i]).epsilon(1e-12));
        }
        for (std::size_t p = 0; p < a.change.size(); ++p) {
            CHECK(relative(b.change[p], a.change[p], 1e-9) < 1e-10);
            CHECK(relative(b.gradients[0][p], a.gradients[0][p], 1e-9) < 1e-10);
        }
    }
    CHECK(changed > 20);
}

TEST_CASE("fused networks train as others do under any strategy on the reference backend") {
    report(hold_fused(1000, 60, 1e-4,
                      [](const ts::optimizer& update, std::uint64_t) { return ts::reference::backend(update); }));
}

#ifdef TESSERA_TEST_HOST
TEST_CASE("so they do on the host, in any formats") {
    report(hold_fused(2000, 40, 1e-4, [](const ts::optimizer& update, std::uint64_t seed) {
        return host_in_formats_of(update, static_cast<int>(seed % 1000));
    }));
}
#endif

namespace {

struct fc1 : ts::linear<12> {};
struct act : ts::silu {};
struct gate : ts::tanh {};
struct fc2 : ts::linear<5> {};
struct net : ts::sequential<ts::features<7>, fc1, act, gate, fc2, ts::cross_entropy> {};

struct data {
    int size = 8;
    std::vector<float> inputs = std::vector<float>(56);
    std::vector<std::int32_t> labels = {0, 1, 2, 3, 4, 0, 1, 2};

    data() {
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            inputs[i] = static_cast<float>(i % 11) * 0.2F - 1;
        }
    }
};

template <class B>
void check_trainer() {
    const data some;
    const ts::graph g = ts::describe<net>(8);
    ts::strategy s(g.view());
    s.micro_batches = 2;
    ts::trainer<net, B> fused(ts::local_devices(1), s, 8, ts::sgd{.learning_rate = 0.2F});
    ts::trainer<net, B> apart(ts::local_devices(1), s, 8, ts::sgd{.learning_rate = 0.2F}, {.fuse = false});
    CHECK(fused.planned_graph().op_count == 4);
    CHECK(apart.planned_graph().op_count == 5);
    CHECK(fused.graph().op_count == 5); // the user's own
    for (int i = 0; i < 3; ++i) {
        CHECK(fused.step(some) == doctest::Approx(apart.step(some)).epsilon(1e-5));
    }
    CHECK(fused.template loss<ts::cross_entropy>() ==
          doctest::Approx(apart.template loss<ts::cross_entropy>()).epsilon(1e-5));
    CHECK(fused.evaluate(some).loss == doctest::Approx(apart.evaluate(some).loss).epsilon(1e-5));
    // What is between is asked for by its layer, and is there.
    const ts::prediction inner = fused.template predict<act>(some);
    const ts::prediction other = apart.template predict<act>(some);
    REQUIRE(inner.values.size() == other.values.size());
    REQUIRE(inner.values.size() == 96);
    for (std::size_t i = 0; i < inner.values.size(); ++i) {
        CHECK(inner.values[i] == doctest::Approx(other.values[i]).epsilon(1e-5));
    }
}

} // namespace

TEST_CASE("trainers fuse unless they are told not to; layers keep their names, losses and predictions") {
    check_trainer<ts::reference::backend>();
#ifdef TESSERA_TEST_HOST
    check_trainer<ts::host::backend>();
#endif
}
