// SPDX-License-Identifier: Apache-2.0
// What the gradients of tied layers move where the layers are split differently, by formula.
#include "support/planned.hpp"

#include "tessera/plan/movements.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace {

namespace ts = tessera;
using test_support::data_parallel;
using test_support::planned;
using ts::index_t;

template <index_t Words, index_t Width>
struct words : ts::embedding<Words, Width> {};
template <index_t Words, index_t Width>
struct logits : ts::linear<Words, ts::no_bias> {};
/// Its output layer has the embedding's weights.
template <index_t Words, index_t Width>
struct tied : ts::sequential<ts::tokens<2>, words<Words, Width>, ts::tied<logits<Words, Width>, words<Words, Width>>,
                             ts::cross_entropy> {};

/// The output layer split by its words, everything else by samples: the smaller shards are those of the later layer.
ts::strategy later_apart(const ts::graph_view& g, int n) {
    ts::strategy s = data_parallel(g, n);
    s.ops[1].degree[g.describe(1).find_loop(ts::loop_name::sample)] = 1;
    s.ops[1].degree[g.describe(1).find_loop(ts::loop_name::channel)] = n;
    return s;
}

/// The embedding split by channels and samples, everything else by samples.
ts::strategy apart(const ts::graph_view& g, int channels, int samples) {
    ts::strategy s = data_parallel(g, channels * samples);
    s.ops[0].degree[g.describe(0).find_loop(ts::loop_name::sample)] = samples;
    s.ops[0].degree[g.describe(0).find_loop(ts::loop_name::channel)] = channels;
    return s;
}

/// Bytes of gradients of parameters that move.
index_t gradients(const ts::graph_view& g, const ts::plan& p) {
    index_t bytes = 0;
    for (const ts::movement& m : ts::movements_of(g, p)) {
        bytes += m.what == ts::tile_kind::parameter_gradient ? m.bytes : 0;
    }
    return bytes;
}

} // namespace

TEST_CASE("tied layers that are split differently: gradients move in proportion to the devices, not to their square") {
    constexpr index_t table = 96 * 32 * 4;
    const ts::graph g = ts::describe<tied<96, 32>>(32);
    const ts::graph wide = ts::describe<tied<32, 96>>(32);
    for (const float clip : {0.0F, 1.0F}) {
        ts::lower_options o;
        o.update.clip_norm = clip;
        for (const int n : {2, 4, 8, 16, 32}) {
            CAPTURE(n);
            CAPTURE(clip);
            // Every shard of the embedding takes its channels from all others, and hands their sum to all.
            const ts::plan p = planned(g.view(), apart(g.view(), n, 1), n, o);
            CHECK(gradients(g.view(), p) == 2 * (n - 1) * table);
            const ts::plan turned = planned(wide.view(), later_apart(wide.view(), n), n, o);
            CHECK(gradients(wide.view(), turned) == 2 * (n - 1) * table);
        }
        for (const int n : {4, 8, 16, 32}) {
            CAPTURE(n);
            CAPTURE(clip);
            // Halves of the channels, each on n / 2 devices: these share out the sums of both layers' contributions,
            // put their halves together, and the output layer's copies take the rest.
            const ts::plan p = planned(g.view(), apart(g.view(), 2, n / 2), n, o);
            CHECK(gradients(g.view(), p) == (n - 1 + n / 2 - 1) * table + (n / 2 - 1) * table + (n - 1) * table);
        }
    }
}

TEST_CASE("what many devices fetch from all others is asked for by devices that lie far apart, one after the other") {
    for (int n = 1; n <= 100; ++n) {
        CAPTURE(n);
        const std::vector<int> order = ts::lowering::spread_order(n);
        std::vector<int> sorted = order;
        std::sort(sorted.begin(), sorted.end());
        for (int i = 0; i < n; ++i) {
            CHECK(sorted[ts::to_size(i)] == i);
        }
        for (std::size_t i = 1; i < order.size(); ++i) {
            const int apart = std::abs(order[i] - order[i - 1]);
            CHECK(std::min(apart, n - apart) >= n / 5);
        }
    }
}
