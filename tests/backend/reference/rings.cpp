// SPDX-License-Identifier: Apache-2.0
// Turns of an attention, in double: pieces of keys in any order make what all keys at once make, to the last digits.
#include "tessera/backend/reference/kernels.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/op/attention.hpp"
#include "tessera/op/embedding.hpp"
#include "tessera/op/linear.hpp"
#include "tessera/part/attention.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace {

namespace ts = tessera;
using ts::index_t;

struct words : ts::embedding<23, 12> {};
struct query : ts::linear<12> {};
struct key : ts::linear<6> {};
struct value : ts::linear<6> {};
struct merge : ts::linear<12> {};
template <class... Options>
struct core : ts::attention<ts::heads<4>, ts::key_heads<2>, Options...> {};
template <class... Options>
struct net : ts::sequential<ts::tokens<9>, words, ts::self_attention<4, query, key, value, merge, core<Options...>>,
                            ts::cross_entropy> {};

/// An attention with numbers for its operands.
struct attention_by_itself {
    ts::graph network;
    ts::description d;
    ts::compute_call call;
    ts::run_state run;
    std::vector<std::vector<double>> values;

    explicit attention_by_itself(ts::graph g) : network(std::move(g)) {
        int op = 0;
        while (!network.view().facts(op).merges) {
            ++op;
        }
        d = network.view().describe(op);
        call.d = &d;
        call.attributes = network.ops[ts::to_size(op)].attributes;
        call.op = op;
        call.run = &run;
        call.last_nest = d.nests.size() - 1;
        std::mt19937 draw(7);
        std::normal_distribution<double> normal(0, 1.5);
        for (int o = 0; o < d.operands.size(); ++o) {
            values.emplace_back();
            for (index_t i = 0; i < d.operands[o].extents.volume(); ++i) {
                values.back().push_back(normal(draw));
            }
        }
        for (int o = 0; o < d.operands.size(); ++o) {
            call.value[o] = {values[ts::to_size(o)].data(), ts::whole(d.operands[o].extents)};
        }
        const ts::loop_ranges all(d);
        std::copy(std::begin(all.range), std::end(all.range), std::begin(call.ranges));
    }
    /// Computes with some keys.
    void compute(index_t first, index_t last, bool continues) {
        call.ranges[d.find_loop(ts::loop_name::key_position)] = {first, last};
        call.continues = continues;
        ts::reference::compute<double>(call);
    }
    double difference(const std::vector<std::vector<double>>& other) const {
        double most = 0;
        for (int o = 0; o < d.operands.size(); ++o) {
            for (std::size_t i = 0; i < values[ts::to_size(o)].size(); ++i) {
                const double a = values[ts::to_size(o)][i];
                const double b = other[ts::to_size(o)][i];
                most = std::max(most, a == b ? 0 : std::abs(a - b) / std::max(1.0, std::abs(b)));
            }
        }
        return most;
    }
};

template <class... Options>
void check() {
    attention_by_itself x(ts::describe<net<Options...>>(3));
    x.compute(0, 9, false);
    const std::vector<std::vector<double>> whole = x.values;
    using piece = std::pair<index_t, index_t>;
    for (const std::vector<piece>& turns :
         {std::vector<piece>{{0, 4}, {4, 9}}, {{6, 9}, {0, 1}, {1, 6}}, {{8, 9}, {5, 8}, {2, 5}, {0, 2}}}) {
        for (std::size_t i = 0; i < turns.size(); ++i) {
            x.compute(turns[i].first, turns[i].second, i > 0);
        }
        CHECK(x.difference(whole) < 1e-12);
    }
    x.compute(0, 4, false); // without the rest it is something else
    CHECK(x.difference(whole) > 1e-3);
}

} // namespace

TEST_CASE("turns of an attention make what all keys at once make") {
    check<>();
    check<ts::causal>();
    check<ts::sliding_window<3>>();
    check<ts::causal, ts::sliding_window<2>, ts::softcap<ts::number(3.0)>>();
    check<ts::alibi, ts::causal>();
    check<ts::percent<40>>();
}
