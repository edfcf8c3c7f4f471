// SPDX-License-Identifier: Apache-2.0
#include "tessera/simulate/delta/operator_lowering.hpp"
#include "tessera/part/residual.hpp"

#include "tests/support/random_strategy.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace sim = tessera::simulation;

struct stem : ts::conv2d<8, ts::window<3>, ts::padding<1>> {};
struct norm : ts::batch_norm<> {};
struct inner : ts::linear<12> {};
struct head : ts::linear<6> {};

/// Views whose memory is another operator's, statistics and partial sums.
struct mixed : ts::sequential<ts::image<4, 8, 8>, stem, norm, ts::relu, ts::average_pool<2>, ts::flatten, inner,
                              ts::residual<ts::relu>, ts::linear<12>, ts::relu, head, ts::cross_entropy> {};

/// Every number that a change writes: of tiles, and of the tasks that name them.
std::vector<ts::index_t> numbers_of(const sim::operator_lowering& x) {
    std::vector<ts::index_t> all{x.moved_bytes()};
    const auto add_list = [&](const std::vector<int>& list) {
        all.push_back(static_cast<ts::index_t>(list.size()));
        all.insert(all.end(), list.begin(), list.end());
    };
    for (const ts::tile& t : x.tiles()) {
        all.insert(all.end(), {t.tensor, t.device, t.alias, t.summand, t.region.volume()});
    }
    for (int f = 0; f < x.fragment_count(); ++f) {
        for (const ts::task& t : x.part(f).tasks) {
            all.insert(all.end(),
                       {static_cast<ts::index_t>(t.kind()), t.op, t.device, t.shard_number, t.params().state});
            add_list(t.reads);
            add_list(t.writes);
            for (const ts::copy_segment& s : t.copy().segments) {
                all.push_back(s.source);
            }
        }
    }
    return all;
}

} // namespace

TEST_CASE("operator lowering: what is rejected leaves nothing behind, not even another name of a tile's memory") {
    const ts::graph network = ts::describe<mixed>(8);
    const ts::graph_view g = network.view();
    constexpr int devices = 4;
    test_support::coverage seen;
    test_support::random pick{77};
    sim::operator_lowering lowered(g, test_support::random_strategy(g, devices, 77, seen), devices);
    int aliases_moved = 0;
    int compared = 0;
    for (int i = 0; i < 400; ++i) {
        ts::strategy next = lowered.current();
        const int op = pick(g.op_count);
        next.ops[ts::to_size(op)] = {};
        test_support::random_configuration(g, next, op, devices, 1 + pick(3), pick, seen);
        if (ts::check_strategy(g, next.view(), devices)) {
            continue;
        }
        ++compared;
        const std::vector<ts::index_t> before = numbers_of(lowered);
        const std::vector<ts::tile> tiles = lowered.tiles();
        lowered.propose({ts::change_of(next, op)});
        bool moved = false;
        for (std::size_t t = 0; t < tiles.size(); ++t) {
            moved = moved || lowered.tiles()[t].alias != tiles[t].alias;
        }
        aliases_moved += moved ? 1 : 0;
        lowered.reject();
        REQUIRE(numbers_of(lowered) == before);
        if (pick(3) == 0) {
            lowered.propose({ts::change_of(next, op)});
            lowered.accept();
        }
    }
    CHECK(compared > 100);
    CHECK(aliases_moved > 10); // the view of another operator's output
}
