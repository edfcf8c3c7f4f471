// SPDX-License-Identifier: Apache-2.0
#include "tessera/cost/collective.hpp"

#include "tessera/machine/presets.hpp"

#include <doctest/doctest.h>

#include <numeric>

namespace {

namespace ts = tessera;
using ts::index_t;
using how = ts::cost::collective_algorithm;

ts::cluster uniform(int devices) {
    ts::machine m;
    m.devices = devices;
    m.link_megabytes = 1000; // 1 ns per byte
    m.link_latency = 500;
    return ts::cluster(ts::fully_linked(m));
}

std::vector<int> first(int n) {
    std::vector<int> all(ts::to_size(n));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

// The closed formulas. alpha: ns per transfer (message, in their words); beta: ns per 1000 bytes; n bytes among p
// members. Reductions themselves are not charged. Sources: Thakur, Rabenseifner and Gropp, Optimization of collective
// communication operations in MPICH, IJHPCA 19(1), 2005, sections 3 and 4; Chan, Heimlich, Purkayastha and van de
// Geijn, Collective communication: theory, practice, and experience, CCPE 19(13), 2007.
struct alpha_beta {
    double alpha = 0; ///< ns
    double beta = 0;  ///< ns per byte

    /// Ring reduce-scatter, or all-gather: (p-1) alpha + (p-1)/p n beta.
    constexpr double ring_half(double n, int p) const { return (p - 1) * (alpha + n / p * beta); }
    /// Ring all-reduce: 2(p-1) alpha + 2(p-1)/p n beta.
    constexpr double ring_all_reduce(double n, int p) const { return 2 * ring_half(n, p); }
    /// Recursive halving reduce-scatter, or recursive doubling all-gather, p a power of two: lg p alpha + (p-1)/p n
    /// beta.
    constexpr double halving_half(double n, int p) const {
        return ts::cost::ceil_log2(p) * alpha + (p - 1) * (n / p) * beta;
    }
    /// Rabenseifner's all-reduce, p a power of two: 2 lg p alpha + 2(p-1)/p n beta.
    constexpr double halving_all_reduce(double n, int p) const { return 2 * halving_half(n, p); }
    /// Binomial broadcast, or reduce: ceil(lg p) (alpha + n beta).
    constexpr double tree_broadcast(double n, int p) const { return ts::cost::ceil_log2(p) * (alpha + n * beta); }
    /// Binomial reduce, then broadcast: 2 ceil(lg p) (alpha + n beta).
    constexpr double tree_all_reduce(double n, int p) const { return 2 * tree_broadcast(n, p); }
    /// Pairwise exchange all-to-all, n the bytes that each member holds: (p-1)(alpha + n/p beta).
    constexpr double all_to_all(double n, int p) const { return ring_half(n, p); }
    /// Scatter, then ring all-gather (van de Geijn): (ceil(lg p) + p - 1) alpha + 2(p-1)/p n beta.
    constexpr double scatter_broadcast(double n, int p) const {
        return (ts::cost::ceil_log2(p) + p - 1) * alpha + 2 * (p - 1) * (n / p) * beta;
    }
};

} // namespace

TEST_CASE("collectives: round by round on a uniform machine they cost what the formulas say") {
    const alpha_beta by_formula{500, 1};
    for (int p = 2; p <= 17; ++p) {
        const ts::cluster on = uniform(p);
        for (const index_t bytes : {1'000'000, 32'000'000}) {
            const auto n = static_cast<double>(bytes);
            const auto close = [&](index_t a, double b) { return std::abs(static_cast<double>(a) - b) < 1e-4 * b; };
            ts::cost::collective_cost c;
            REQUIRE(ts::cost::half_all_reduce(on, first(p), how::ring, c));
            CHECK(close(2 * c.time(bytes), by_formula.ring_all_reduce(n, p)));
            CHECK(ts::cost::half_all_reduce(on, first(p), how::halving, c) == ((p & (p - 1)) == 0));
            if ((p & (p - 1)) == 0) {
                CHECK(close(2 * c.time(bytes), by_formula.halving_all_reduce(n, p)));
            }
            REQUIRE(ts::cost::half_all_reduce(on, first(p), how::tree, c));
            CHECK(close(2 * c.time(bytes), by_formula.tree_all_reduce(n, p)));
            CHECK_FALSE(
                ts::cost::half_all_reduce(on, first(p), how::hierarchical, c)); // every device is a node of its own
        }
    }
}

TEST_CASE("collectives: the formulas, by hand") {
    constexpr alpha_beta f{10, 2};
    static_assert(f.ring_all_reduce(100, 4) == 2 * 3 * (10 + 25 * 2));
    static_assert(f.halving_all_reduce(100, 4) == 2 * (2 * 10 + 75 * 2));
    static_assert(f.tree_all_reduce(100, 5) == 2 * 3 * (10 + 200));
    static_assert(f.scatter_broadcast(100, 4) == 5 * 10 + 2 * 75 * 2);
    static_assert(f.all_to_all(100, 4) == 3 * (10 + 50));
}

TEST_CASE("collectives: halving beats the ring for few bytes, and never loses by bandwidth on a uniform machine") {
    const ts::cluster on = uniform(16);
    const auto choice = ts::cost::all_reduce_halves(on, first(16));
    CHECK(choice.best(16).algorithm == how::halving);
    for (const index_t bytes : {16, 1000, 1'000'000, 1'000'000'000}) {
        for (const auto& c : choice.offered) {
            CHECK(choice.best(bytes).time(bytes) <= c.time(bytes));
        }
    }
    CHECK(choice.best(0).time(0) == 0);
}

TEST_CASE(
    "collectives: by node on four nodes of four P100, whose cards are the bottleneck of a ring of strided members") {
    const ts::cluster on(ts::machines::p100_nodes());
    const auto choice = ts::cost::all_reduce_halves(on, first(16));
    ts::cost::collective_cost ring;
    ts::cost::collective_cost two_levels;
    REQUIRE(ts::cost::half_all_reduce(on, first(16), how::ring, ring));
    REQUIRE(ts::cost::half_all_reduce(on, first(16), how::hierarchical, two_levels));
    // One message at a time leaves every node in the ring: 15/16 of the bytes through PCIe at 12 GB/s.
    CHECK(ring.slope == doctest::Approx(15.0 / 16 * 1e6 / 12).epsilon(1e-3));
    // 3/4 over NVLink at 20 GB/s, then four rings of a quarter share the card at 12.5 GB/s: 3/4 of the bytes.
    CHECK(two_levels.slope == doctest::Approx(0.75 * 1e6 / 20 + 0.75 * 1e6 / 12.5).epsilon(1e-3));
    // Members in turn from the four nodes: every message of the ring crosses a card, four at a time.
    std::vector<int> strided;
    for (int i = 0; i < 16; ++i) {
        strided.push_back(i % 4 * 4 + i / 4);
    }
    ts::cost::collective_cost scattered;
    REQUIRE(ts::cost::half_all_reduce(on, strided, how::ring, scattered));
    CHECK(scattered.slope == doctest::Approx(15.0 / 16 * 4 * 1e6 / 12.5).epsilon(1e-3));
    // No lane is busy for longer than the collective lasts.
    for (const auto& c : choice.offered) {
        for (const auto& l : c.lanes) {
            CHECK(l.busy <= c.slope);
        }
    }
}

TEST_CASE("collectives: hierarchical needs equally many members in every node") {
    const ts::cluster on(ts::machines::p100_nodes());
    ts::cost::collective_cost c;
    CHECK_FALSE(ts::cost::half_all_reduce(on, {0, 1, 4}, how::hierarchical, c));
    CHECK(ts::cost::half_all_reduce(on, {0, 1, 4, 5}, how::hierarchical, c));
}
