// SPDX-License-Identifier: Apache-2.0
// Memory: brute force over time.
#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"

#include "support/networks.hpp"
#include "support/random_strategy.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace {

namespace ts = tessera;

/// First and last task that touches each tile's memory, in the plan's order; what is kept lives to the end.
std::vector<ts::interval> lives(const ts::plan& p) {
    std::vector<ts::interval> live(p.tiles.size());
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        const ts::task& t = p.tasks[i];
        std::vector<int> touched = t.reads;
        touched.insert(touched.end(), t.writes.begin(), t.writes.end());
        for (int k : touched) {
            while (p.tiles[ts::to_size(k)].alias >= 0) {
                k = p.tiles[ts::to_size(k)].alias;
            }
            const ts::tile& x = p.tiles[ts::to_size(k)];
            const bool sliced = t.params().slices > 1 && x.kind != ts::tile_kind::scalar;
            if (sliced ? ts::even_part(x.elements, t.params().slices, t.params().slice).empty() : x.elements == 0) {
                continue; // more slices than elements: nothing is touched
            }
            ts::interval& l = live[ts::to_size(k)];
            l = l.empty() ? ts::interval{static_cast<ts::index_t>(i), static_cast<ts::index_t>(i) + 1}
                          : ts::interval{l.begin, static_cast<ts::index_t>(i) + 1};
        }
    }
    for (std::size_t k = 0; k < p.tiles.size(); ++k) {
        if (p.tiles[k].keep && p.tiles[k].alias < 0) {
            live[k].end = static_cast<ts::index_t>(p.tasks.size()) + 1;
        }
    }
    return live;
}

bool in_arena(const ts::tile& t) { return t.alias < 0 && t.device >= 0 && !ts::is_persistent(t.kind); }

} // namespace

TEST_CASE("tiles alive together do not overlap; the peak is that of the placed tiles, and little above what is alive") {
    namespace n = test_networks;
    test_support::coverage seen;
    const std::vector<ts::graph> networks{
        ts::describe<n::lenet5::network>(8),     ts::describe<n::residual_net::network>(6),
        ts::describe<n::inception::network>(5),  ts::describe<n::unet::network>(4),
        ts::describe<n::frozen_net::network>(6), ts::describe<n::mlp::network>(9)};
    double worst = 1;
    double sum = 0;
    int count = 0;
    ts::index_t shared = 0;
    for (std::uint64_t seed = 0; seed < 72; ++seed) {
        const ts::graph_view g = networks[seed % networks.size()].view();
        const int devices = 1 + static_cast<int>(seed / networks.size() % 5);
        const ts::strategy s = test_support::random_strategy(g, devices, seed, seen);
        ts::lower_options o;
        o.kind = seed % 3 == 2 ? ts::run_kind::evaluation : ts::run_kind::training;
        o.update = seed % 2 == 0 ? ts::optimizer(ts::adam{}) : ts::optimizer(ts::sgd{}, 1.0F);
        o.keep_gradients = seed % 5 == 0;
        ts::plan p = ts::lower(g, s.view(), devices, o);
        ts::finish(g, p);
        const std::vector<ts::interval> live = lives(p);
        for (std::size_t a = 0; a < p.tiles.size(); ++a) {
            const ts::tile& x = p.tiles[a];
            if (x.alias >= 0) {
                REQUIRE(x.offset == p.tiles[ts::to_size(p.root(static_cast<int>(a)))].offset);
                continue;
            }
            if (x.device < 0 || (in_arena(x) && live[a].empty())) {
                continue;
            }
            REQUIRE(x.offset >= 0);
            REQUIRE(x.offset % 64 == 0);
            const bool is_state = x.kind == ts::tile_kind::optimizer_state;
            REQUIRE(x.bytes ==
                    (is_state ? x.elements * 4 * o.update.state_count() : x.elements * ts::bytes_of(x.type)));
            REQUIRE(x.offset + x.bytes <= (in_arena(x) ? p.arena_bytes : p.persistent_bytes)[ts::to_size(x.device)]);
            for (std::size_t b = 0; b < a; ++b) {
                const ts::tile& y = p.tiles[b];
                if (y.alias >= 0 || y.device != x.device || in_arena(y) != in_arena(x)) {
                    continue;
                }
                const bool together = !in_arena(x) || !ts::intersect(live[a], live[b]).empty();
                const bool overlap = !ts::intersect(ts::interval{x.offset, x.offset + x.bytes},
                                                    ts::interval{y.offset, y.offset + y.bytes})
                                          .empty();
                REQUIRE(!(together && overlap));
                shared += overlap ? 1 : 0;
            }
        }
        for (int d = 0; d < devices; ++d) {
            ts::index_t top = 0;
            ts::index_t persistent = 0;
            for (std::size_t k = 0; k < p.tiles.size(); ++k) {
                const ts::tile& t = p.tiles[k];
                const ts::index_t padded = (t.bytes + 63) / 64 * 64;
                if (t.alias < 0 && t.device == d && ts::is_persistent(t.kind)) {
                    persistent += padded;
                } else if (in_arena(t) && t.device == d && !live[k].empty()) {
                    top = std::max(top, t.offset + padded);
                }
            }
            CHECK(p.arena_bytes[ts::to_size(d)] == top);
            CHECK(p.persistent_bytes[ts::to_size(d)] == persistent);
            ts::index_t peak = 0;
            for (ts::index_t now = 0; now <= static_cast<ts::index_t>(p.tasks.size()); ++now) {
                ts::index_t alive = 0;
                for (std::size_t k = 0; k < p.tiles.size(); ++k) {
                    const bool is_here = in_arena(p.tiles[k]) && p.tiles[k].device == d;
                    alive +=
                        is_here && live[k].contains(ts::interval{now, now + 1}) ? (p.tiles[k].bytes + 63) / 64 * 64 : 0;
                }
                peak = std::max(peak, alive);
            }
            CHECK(p.arena_bytes[ts::to_size(d)] >= peak);
            if (peak > 0) {
                const double ratio = static_cast<double>(p.arena_bytes[ts::to_size(d)]) / static_cast<double>(peak);
                worst = std::max(worst, ratio);
                sum += ratio;
                ++count;
            }
        }
    }
    CHECK(shared > 100); // memory is used again
    CHECK(worst < 1.6);
    MESSAGE("arena over the most bytes alive at once: mean " << sum / count << ", worst " << worst << " of " << count);
}
