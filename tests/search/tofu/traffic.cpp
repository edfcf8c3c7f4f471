// SPDX-License-Identifier: Apache-2.0
// The bytes that Tofu counts are, to the byte, those that plans move; and the paper's count is what its rules say.
#include "tessera/search/tofu/traffic.hpp"

#include "random_graph.hpp"

#include "tessera/plan/lower/lower.hpp"
#include "tessera/search/tofu/tofu.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using search::tofu_count;

/// Whether every tensor has one reader: then nothing is received once for two operators.
bool is_chain(const ts::graph& g) {
    std::vector<int> readers(g.tensors.size(), 0);
    for (const ts::op_node& op : g.ops) {
        for (const int t : op.inputs) {
            ++readers[ts::to_size(t)];
        }
    }
    return *std::max_element(readers.begin(), readers.end()) <= 1;
}

/// Random splits of all operators.
search::tofu_result some_splits(search::detail::tofu_searcher& all, std::mt19937& random) {
    std::vector<std::vector<int>> chosen;
    for (const auto& histories : all.all_histories()) {
        chosen.push_back(histories[random() % histories.size()]);
    }
    return all.result_of(chosen);
}

} // namespace

TEST_CASE("what is counted is what plans move") {
    std::mt19937 random{11};
    int chains = 0;
    int graphs = 0;
    for (unsigned seed = 0; seed < 150; ++seed) {
        const ts::graph g = tests::tofu_graph_maker(seed).trained(2 + static_cast<int>(seed % 5));
        for (const int devices : {4, 8}) {
            for (const bool slices : {false, true}) {
                search::tofu_options o;
                o.coarse.elementwise = seed % 2 == 0;
                o.traffic.slices_parameters = slices;
                search::detail::tofu_searcher all(g.view(), search::steps_for(1, devices), o);
                const search::tofu_result r = some_splits(all, random);
                ts::require(g.view(), r.best.view(), devices);
                const ts::index_t moved = ts::lower(g.view(), r.best.view(), devices).moved_bytes;
                CAPTURE(seed);
                CAPTURE(devices);
                CAPTURE(slices);
                CHECK(moved <= r.bytes);
                ++graphs;
                if (is_chain(g)) {
                    CHECK(moved == r.bytes);
                    ++chains;
                }
            }
        }
    }
    CHECK(chains > 100);
    CHECK(graphs == 600);
}

TEST_CASE("in one two-way step both counts agree") {
    std::mt19937 random{3};
    for (unsigned seed = 0; seed < 200; ++seed) {
        const ts::graph g = tests::tofu_graph_maker(seed).layers(6);
        search::tofu_options paper;
        paper.traffic.count = tofu_count::groups;
        search::detail::tofu_searcher exact(g.view(), search::steps_for(1, 2), {});
        search::detail::tofu_searcher by_rules(g.view(), search::steps_for(1, 2), paper);
        const auto offered = exact.all_histories();
        std::vector<std::vector<int>> chosen;
        for (const auto& histories : offered) {
            chosen.push_back(histories[random() % histories.size()]);
        }
        CAPTURE(seed);
        CHECK(exact.bytes_of_groups(chosen) == by_rules.bytes_of_groups(chosen));
    }
}

TEST_CASE("the paper's rules, for a tensor of A bytes between two linear layers on 2 and 4 devices") {
    ts::graph_builder b;
    int x = b.add_input(ts::make_shape(16, 32), ts::element::f32, "x");
    const ts::op_attributes square =
        ts::attributes_of(ts::op_kind::linear, ts::op::linear_attributes{.out = 32, .bias = false});
    x = b.add_op(square, "first", 1, false, &x, 1);
    x = b.add_op(square, "second", 2, false, &x, 1);
    const ts::graph g = b.built();
    const ts::index_t a = 16 * 32 * 4;
    const ts::description d = g.view().describe(1);
    const int sample = d.find_loop(ts::loop_name::sample);
    const int channel = d.find_loop(ts::loop_name::channel);
    const int sum = d.find_loop(ts::loop_name::reduction);
    using list = std::vector<int>;
    for (const tofu_count count : {tofu_count::groups, tofu_count::devices}) {
        search::tofu_traffic t(g.view(), search::steps_for(1, 4), {count, false});
        const bool exact = count == tofu_count::devices;
        const auto bytes = [&](const list& from, const list& to) { return t.edge(1, 0, from, to); };
        // Forward and backward; the layer's gradient is what a split over channels leaves summands of.
        CHECK(bytes({sample}, {sample}) == 0);
        CHECK(bytes({channel}, {sum}) == 0);
        CHECK(bytes({sample}, {sum}) == a / 2 + a / 2);
        CHECK(bytes({channel}, {sample}) == a / 2 + a / 2);
        CHECK(bytes({sample}, {channel}) == a + a);
        CHECK(bytes({sum}, {sample}) == a + a);
        CHECK(bytes({sum}, {channel}) == 2 * a + 2 * a);
        CHECK(bytes({sample, sample}, {channel, channel}) == 3 * a + 3 * a);
        CHECK(bytes({sum, sum}, {sample, sample}) == 3 * a + 3 * a);
        // Four summands wanted whole by four: reduced first, then spread, or each adds them up for itself.
        CHECK(bytes({sum, sum}, {channel, channel}) == (exact ? 2 * 12 * a : 2 * 6 * a));
        // Counted by steps an exchange is paid in each; a device receives three quarters of its quarter.
        CHECK(bytes({sample, sample}, {sum, sum}) == (exact ? 2 * 3 * a / 4 : 2 * a));
    }
}
