// SPDX-License-Identifier: Apache-2.0
// What compressed gradients weigh on the wire: the plan's bytes by a closed formula, and the simulator's price of them.
#include "support/planned.hpp"

#include "tessera/machine/presets.hpp"
#include "tessera/plan/movements.hpp"
#include "tessera/schedule/top_k_gradients.hpp"
#include "tessera/simulate/critical_path.hpp"
#include "tessera/simulate/simulate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace {

namespace ts = tessera;
namespace sim = tessera::simulation;
using test_support::data_parallel;
using ts::index_t;

struct l1 : ts::linear<512> {};
struct l2 : ts::linear<1000> {};
struct l3 : ts::linear<12> {};
struct three_layers : ts::sequential<ts::features<256>, l1, ts::relu, l2, ts::relu, l3, ts::cross_entropy> {};

ts::plan planned(const ts::graph_view& g, int devices, const ts::synchronization& sync) {
    return test_support::planned(g, data_parallel(g, devices, sync), devices);
}

/// Each of n devices takes the codes of n - 1 others, of every parameter by itself.
index_t expected_bytes(const ts::graph_view& g, int n, index_t (*bytes)(index_t elements)) {
    index_t total = 0;
    for (int p = 0; p < g.parameter_count; ++p) {
        total += bytes(g.parameters[p].extents.volume());
    }
    return n * (n - 1) * total;
}

/// Fast devices behind slow links.
ts::cluster star(int devices, bool threads) {
    ts::device_graph g;
    g.add_class({"d", {1'000'000, 1'000'000, 1'000'000}, 1'000'000, 0, 0, threads});
    for (int d = 0; d < devices; ++d) {
        g.add_device(0, "d" + std::to_string(d));
    }
    const int hub = g.add_switch("switch");
    for (int d = 0; d < devices; ++d) {
        g.add_link(d, hub, 10, 0);
    }
    return ts::cluster(g);
}

} // namespace

TEST_CASE("compressed gradients: each device sends (n-1) codes, of 8 bits about a quarter of the gradient each") {
    const ts::graph whole = ts::describe<three_layers>(24);
    const ts::graph_view g = whole.view();
    const auto all = ts::schedule::gradients_of(g);
    index_t elements = 0;
    for (int p = 0; p < g.parameter_count; ++p) {
        elements += g.parameters[p].extents.volume();
    }
    for (const int n : {2, 3, 4}) {
        CAPTURE(n);
        const index_t whole_bytes = planned(g, n, ts::schedule::buckets(all)).moved_bytes;
        CHECK(whole_bytes == 2 * (n - 1) * 4 * elements);
        const index_t eight = planned(g, n, ts::schedule::eight_bit_gradients(all)).moved_bytes;
        // A byte for each element, in words of 4, and 4 for each block.
        CHECK(eight == expected_bytes(g, n, [](index_t e) { return (e + 3) / 4 * 4 + (e + 255) / 256 * 4; }));
        const index_t one = planned(g, n, ts::schedule::one_bit_gradients(all, 512)).moved_bytes;
        CHECK(one == expected_bytes(g, n, [](index_t e) { return (e + 31) / 32 * 4 + (e + 511) / 512 * 8; }));
        const index_t largest = planned(g, n, ts::schedule::top_k_gradients(all, 50)).moved_bytes;
        CHECK(largest == expected_bytes(g, n, [](index_t e) { return (e + 49) / 50 * 8; }));
        if (n == 2) { // then whole gradients cross once each way, too
            CHECK(static_cast<double>(eight) / static_cast<double>(whole_bytes) ==
                  doctest::Approx(0.25 + 1.0 / 256).epsilon(0.001));
            CHECK(static_cast<double>(one) / static_cast<double>(whole_bytes) ==
                  doctest::Approx(1.0 / 32 + 2.0 / 512).epsilon(0.001));
        }
    }
    index_t codes = 0;
    const ts::plan p = planned(g, 3, ts::schedule::eight_bit_gradients(all));
    for (const ts::movement& m : ts::movements_of(g, p)) {
        CHECK(m.what == ts::tile_kind::code);
        codes += m.bytes;
    }
    CHECK(codes == p.moved_bytes);
    // What devices leave out is kept beside the parameters: 4 bytes more for each of them.
    const ts::plan usual = planned(g, 3, ts::schedule::buckets(all));
    for (std::size_t d = 0; d < 3; ++d) {
        CHECK(p.persistent_bytes[d] >= usual.persistent_bytes[d] + 4 * elements);
        CHECK(p.persistent_bytes[d] <= usual.persistent_bytes[d] + 4 * elements + 64 * g.parameter_count);
    }
}

TEST_CASE("compressed gradients: simulated over slow links a step takes as much less as there are fewer bytes") {
    const ts::graph whole = ts::describe<three_layers>(8);
    const ts::graph_view g = whole.view();
    const auto all = ts::schedule::gradients_of(g);
    for (const int n : {2, 4}) {
        const auto on = [&](const ts::cluster& machine, const ts::synchronization& sync) {
            return static_cast<double>(sim::simulate(g, planned(g, n, sync), machine).makespan);
        };
        const auto on_gpus = [&](const ts::synchronization& sync) { return on(star(n, false), sync); };
        const double plain = on_gpus(ts::schedule::buckets(all));
        const double eight = on_gpus(ts::schedule::eight_bit_gradients(all));
        const double one = on_gpus(ts::schedule::one_bit_gradients(all));
        // An all-reduce sends 2(n-1)/n of the gradients from each, an all-gather n-1 codes: n/8 as much of 8 bits.
        CAPTURE(n);
        MESSAGE(n << " devices behind a switch: ms " << plain / 1e6 << ", 8 bits " << eight / 1e6 << ", 1 bit "
                  << one / 1e6);
        CHECK(eight / plain == doctest::Approx(n * (0.25 + 1.0 / 256) / 2).epsilon(0.1));
        CHECK(one / plain == doctest::Approx(n * (1.0 / 32 + 2.0 / 256) / 2).epsilon(0.1));
        const auto collectives = [&](const ts::synchronization& sync) {
            return sim::simulate(g, planned(g, n, sync), star(n, false)).collectives;
        };
        CHECK(collectives(ts::schedule::buckets(all)) == 4); // of two buckets
        CHECK(collectives(ts::schedule::eight_bit_gradients(all)) == 2);
        // Threads take what others have by themselves: all-reduces (n-1)/n of the gradients and of their sums, codes
        // n-1 times.
        const double by_threads = on(star(n, true), ts::schedule::buckets(all));
        CHECK(on(star(n, true), ts::schedule::eight_bit_gradients(all)) / by_threads ==
              doctest::Approx(n * (0.25 + 1.0 / 256) / 2).epsilon(0.15));
    }
}
