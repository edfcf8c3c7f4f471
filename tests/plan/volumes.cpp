// SPDX-License-Identifier: Apache-2.0
// What shards of a volume's depth exchange, by closed formulas; and that a network of volumes takes every split.
#include "support/networks.hpp"

#include "tessera/layout/redistribute.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/plan/movements.hpp"
#include "tessera/strategy/operand_layout.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace {

namespace ts = tessera;
using ts::index_t;

constexpr index_t batch = 2;
constexpr index_t channels = 3;
constexpr index_t extent[] = {12, 8, 4}; // depth, height, width

struct enter : ts::conv3d<channels, ts::window<1>> {};
template <class... Options>
struct seen : ts::conv3d<4, Options...> {};
template <class... Options>
struct network : ts::sequential<ts::volume<2, extent[0], extent[1], extent[2]>, enter, ts::relu, seen<Options...>,
                                ts::cross_entropy> {};

/// Every operator in `degree` shards along one dimension, one on each device.
ts::strategy along(const ts::graph_view& g, ts::loop_name name, int degree) {
    ts::strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        s.ops[ts::to_size(op)].degree[g.describe(op).find_loop(name)] = degree;
    }
    return s;
}

/// Bytes that an evaluation moves, and those of gradients of activations in a training step.
struct moved {
    index_t forward = 0;
    index_t backward = 0;
};
moved bytes_of(const ts::graph_view& g, const ts::strategy& s, int devices) {
    ts::lower_options evaluates;
    evaluates.kind = ts::run_kind::evaluation;
    ts::plan evaluation = ts::lower(g, s.view(), devices, evaluates);
    ts::finish(g, evaluation);
    ts::plan training = ts::lower(g, s.view(), devices, {});
    ts::finish(g, training);
    moved m{evaluation.moved_bytes, 0};
    for (const ts::movement& x : ts::movements_of(g, training)) {
        m.backward += x.what == ts::tile_kind::gradient ? x.bytes : 0;
    }
    return m;
}

/// `planes`: that a shard reads of each neighbour.
template <class... Options>
void check_halo(ts::loop_name name, int d, index_t planes) {
    const ts::graph network_of = ts::describe<network<Options...>>(batch);
    const ts::graph_view g = network_of.view();
    const index_t plane = batch * channels * extent[0] * extent[1] * extent[2] / extent[d] * 4;
    for (const int devices : {2, 4}) {
        CAPTURE(std::string(ts::to_text(name)));
        CAPTURE(devices);
        const ts::strategy s = along(g, name, devices);
        const moved m = bytes_of(g, s, devices);
        CHECK(m.forward == 2 * (devices - 1) * planes * plane);
        CHECK(m.backward == m.forward); // each plane's gradient goes back whence the plane came
        const ts::description from = g.describe(1);
        const ts::description to = g.describe(2);
        const ts::redistributed r = ts::redistribute(
            ts::layout_of_operand(from, from.output(), s.ops[1], s.pool.data(), ts::operand_tensor::value),
            ts::layout_of_operand(to, 0, s.ops[2], s.pool.data(), ts::operand_tensor::value));
        CHECK(r.bytes == m.forward);
        CHECK((r.kind == ts::collective::halo_exchange) == (planes > 0));
    }
}

} // namespace

TEST_CASE("shards of depth, height or width exchange as many planes as their windows reach over") {
    using ts::loop_name;
    using ts::padding;
    using ts::window;
    const loop_name names[] = {loop_name::depth, loop_name::height, loop_name::width};
    for (int d = 0; d < 3; ++d) {
        check_halo<window<3>, padding<1>>(names[d], d, 1);
    }
    check_halo<window<5, 1, 1>, padding<2, 0, 0>>(loop_name::depth, 0, 2);
    check_halo<window<3, 1, 1>, padding<2, 0, 0>, ts::dilation<2, 1, 1>>(loop_name::depth, 0, 2);
    check_halo<window<1, 3, 3>, padding<0, 1, 1>>(loop_name::depth, 0, 0);
    check_halo<window<1, 3, 3>, padding<0, 1, 1>>(loop_name::height, 1, 1);
    check_halo<window<3, 1, 1>, padding<1, 0, 0>>(loop_name::height, 1, 0);
}

TEST_CASE("a convolution of volumes is split by samples, channels, depth, height, width and reduction, and no others") {
    const auto splits = [](const ts::op_attributes& a) {
        const ts::shape x = ts::make_shape(2, 4, 6, 6, 6);
        const ts::description d = ts::describe(a, &x, 1);
        std::set<std::string> names;
        for (int l = 0; l < d.loops.size(); ++l) {
            if (ts::splittable(d, l)) {
                names.insert(ts::to_text(d.loops[l].name));
            }
        }
        return names;
    };
    const std::set<std::string> all{"sample", "channel", "depth", "height", "width", "reduction"};
    CHECK(splits(ts::conv3d<4, ts::window<3>>::attributes) == all);
    CHECK(splits(ts::conv3d<4, ts::window<3>, ts::groups<2>>::attributes) == all);
    CHECK(splits(ts::max_pool3d<2>::attributes) ==
          std::set<std::string>{"sample", "channel", "depth", "height", "width"});
}
