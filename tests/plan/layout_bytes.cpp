// SPDX-License-Identifier: Apache-2.0
// The bytes of redistribution<From, To>, constants, against the copies of the plans that the strategies lower to, and
// the simulator's lanes.
#include "support/random_strategy.hpp"
#include "support/star.hpp"
#include "tessera/layout/typed_redistribution.hpp"
#include "tessera/op/mask.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/plan/movements.hpp"
#include "tessera/simulate/activities.hpp"
#include "tessera/strategy/typed_layout_of.hpp"

#include <doctest/doctest.h>

#include <tuple>
#include <vector>

namespace {

namespace ts = tessera;
using ts::index_t;
using ts::on;
using ts::split;

struct conv : ts::conv2d<8, ts::window<3>, ts::padding<1>> {};
struct strided : ts::conv2d<6, ts::window<3>, ts::stride<2>> {};
struct fc1 : ts::linear<12> {};
struct fc2 : ts::linear<8> {};
struct network
    : ts::sequential<ts::image<4, 13, 12>, conv, ts::relu, strided, ts::flatten, fc1, fc2, ts::cross_entropy> {};
constexpr int devices = 4;
constexpr index_t batch = 8;

/// Splits of a layer of images, and of one of rows.
template <class L>
using of_images =
    std::tuple<on<L>, on<L, split<ts::sample, 2>>, on<L, split<ts::sample, 4>>, on<L, split<ts::channel, 2>>,
               on<L, split<ts::height, 3>, ts::uneven>, on<L, split<ts::width, 2>, ts::uneven, ts::from_device<2>>,
               on<L, split<ts::sample, 2>, split<ts::height, 2>, ts::uneven>, on<L, ts::cut<ts::sample, 3, 5>>,
               on<L, split<ts::sample, 2>, ts::replicate<2>>, on<L, split<ts::channel, 2>, ts::place<3, 1>>,
               on<L, split<ts::height, 4>, ts::uneven, ts::from_device<3, -1>>>;
template <class L>
using of_rows =
    std::tuple<on<L>, on<L, split<ts::sample, 2>>, on<L, split<ts::sample, 4>>, on<L, split<ts::channel, 2>>,
               on<L, split<ts::channel, 4>>, on<L, split<ts::reduction, 2>>, on<L, split<ts::reduction, 4>, ts::uneven>,
               on<L, split<ts::sample, 2>, split<ts::channel, 2>>, on<L, split<ts::sample, 2>, split<ts::reduction, 2>>,
               on<L, ts::replicate<2>>, on<L, split<ts::channel, 2>, ts::replicate<2>>, on<L, ts::cut<ts::channel, 5>>,
               on<L, split<ts::sample, 2>, ts::place<1, 3>>, on<L, split<ts::sample, 4>, ts::place<1, 1, 0, 2>>>;
using of_flatten = std::tuple<on<ts::flatten>, on<ts::flatten, split<ts::sample, 2>>,
                              on<ts::flatten, split<ts::sample, 4>>, on<ts::flatten, split<ts::channel, 2>>>;

template <class Choices, int Seed, int Salt>
using chosen =
    std::tuple_element_t<ts::op::mix(static_cast<std::uint64_t>(Seed) * 7919 + Salt) % std::tuple_size_v<Choices>,
                         Choices>;
template <int Seed>
using drawn =
    ts::strategy_of<network, devices, batch, chosen<of_images<conv>, Seed, 1>, chosen<of_images<ts::relu>, Seed, 2>,
                    chosen<of_images<strided>, Seed, 3>, chosen<of_flatten, Seed, 4>, chosen<of_rows<fc1>, Seed, 5>,
                    chosen<of_rows<fc2>, Seed, 6>>;

struct edge {
    index_t forward = 0;
    index_t backward = 0;
    index_t sent[devices]{};
    index_t received[devices]{};
    ts::collective kind = ts::collective::none;
    ts::collective backward_kind = ts::collective::none;
    friend bool operator==(const edge&, const edge&) = default;
};

/// What the functions behind the constants say of all edges of a chain.
std::vector<edge> by_values(const ts::graph_view& g, const ts::strategy_view& s) {
    std::vector<edge> all;
    for (int op = 1; op < g.op_count; ++op) {
        const ts::description from = g.describe(op - 1);
        const ts::description to = g.describe(op);
        const int input = to.find_operand(ts::operand_kind::input);
        const auto of = [&](int which, const ts::description& d, int operand, ts::operand_tensor what) {
            return ts::layout_of_operand(d, operand, s.ops[which], s.pool, what);
        };
        const ts::redistributed forward = ts::redistribute(of(op - 1, from, from.output(), ts::operand_tensor::value),
                                                           of(op, to, input, ts::operand_tensor::value));
        const ts::redistributed backward =
            ts::redistribute(of(op, to, input, ts::operand_tensor::gradient),
                             of(op - 1, from, from.output(), ts::operand_tensor::gradient));
        edge e{forward.bytes, backward.bytes, {}, {}, forward.kind, backward.kind};
        for (std::size_t d = 0; d < forward.sent.size(); ++d) {
            e.sent[d] = forward.sent[d];
            e.received[d] = forward.received[d];
        }
        all.push_back(e);
    }
    return all;
}

/// What constants say of the edge between two layers.
template <class Strategy, class Producer, class Consumer>
edge constants() {
    using forward = ts::redistribution<ts::layout_of<network, Strategy, Producer>,
                                       ts::input_layout_of<network, Strategy, Consumer>>;
    using backward = ts::redistribution<ts::input_gradient_layout_of<network, Strategy, Consumer>,
                                        ts::gradient_layout_of<network, Strategy, Producer>>;
    edge e{forward::bytes, backward::bytes, {}, {}, forward::kind, backward::kind};
    for (int d = 0; d < devices; ++d) {
        e.sent[d] = forward::sent(d);
        e.received[d] = forward::received(d);
    }
    return e;
}

int kinds[12]{};
int backward_moves = 0;

void check(const ts::strategy_view& s, const std::vector<edge>& edges) {
    constexpr ts::graph_view g = ts::describe<network, batch>();

    // Forward: everything that an evaluation moves.
    ts::lower_options evaluates;
    evaluates.kind = ts::run_kind::evaluation;
    ts::plan evaluation = ts::lower(g, s, devices, evaluates);
    index_t forward = 0;
    std::vector<index_t> sent(devices, 0);
    std::vector<index_t> received(devices, 0);
    std::vector<index_t> moved(edges.size(), 0);
    index_t others = 0;
    index_t others_received[devices]{};
    for (const ts::task& t : evaluation.tasks) {
        for (const ts::copy_segment& x : t.copy().segments) {
            const ts::tile& source = evaluation.tiles[ts::to_size(x.source)];
            const index_t bytes = x.region.volume() * ts::bytes_of(source.type);
            if (source.device >= 0 && source.device != t.device) { // what is handed in lies on none
                sent[ts::to_size(source.device)] += bytes;
                received[ts::to_size(t.device)] += bytes;
                const bool inside = source.kind == ts::tile_kind::intermediate; // of a loss that is split by classes
                (inside ? others : moved[ts::to_size(g.tensors[source.tensor].producer)]) += bytes;
                others_received[t.device] += inside ? bytes : 0;
            }
        }
    }
    for (std::size_t i = 0; i < edges.size(); ++i) {
        CAPTURE(i);
        CHECK(edges[i].forward == moved[i]);
        forward += edges[i].forward;
        ++kinds[static_cast<int>(edges[i].kind)];
        ++kinds[static_cast<int>(edges[i].backward_kind)];
    }
    CHECK(forward + others == evaluation.moved_bytes);
    index_t constant_received[devices]{};
    index_t constant_sent[devices]{};
    for (const edge& e : edges) {
        for (int d = 0; d < devices; ++d) {
            constant_received[d] += e.received[d];
            constant_sent[d] += e.sent[d];
        }
    }
    const ts::cluster on = test_support::star(devices, 1000, 1000, 1000); // a byte takes a nanosecond
    ts::finish(g, evaluation);
    const std::vector<index_t> lanes = ts::simulation::trace(g, evaluation, on).lane_bytes(on);
    REQUIRE(lanes.size() == 2 * devices);
    index_t on_lanes = 0;
    for (const index_t bytes : lanes) {
        on_lanes += bytes;
    }
    CHECK(on_lanes == 2 * (forward + others)); // each byte out of a device and into another
    for (int d = 0; d < devices; ++d) {
        const auto k = ts::to_size(d);
        CHECK(constant_received[d] + others_received[d] == received[k]);
        // Of copies any may be the one that is sent.
        CHECK(lanes[2 * k] + lanes[2 * k + 1] == sent[k] + received[k]);
    }

    // Backward: what a training step moves of the gradients of activations.
    ts::plan training = ts::lower(g, s, devices, {});
    std::vector<index_t> gradients(edges.size(), 0);
    std::vector<index_t> values(edges.size(), 0);
    for (const ts::movement& m : ts::movements_of(g, training)) {
        if (m.source >= 0 && (m.what == ts::tile_kind::gradient || m.what == ts::tile_kind::activation)) {
            (m.what == ts::tile_kind::gradient ? gradients : values)[ts::to_size(m.source)] += m.bytes;
        }
    }
    for (std::size_t i = 0; i < edges.size(); ++i) {
        CAPTURE(i);
        CHECK(edges[i].backward == gradients[i]);
        CHECK(edges[i].forward == values[i]);
        backward_moves += edges[i].backward > 0 ? 1 : 0;
    }
}

template <int... Seeds>
void check_constants(std::integer_sequence<int, Seeds...>) {
    const auto one = [](auto seed) {
        using s = drawn<decltype(seed)::value>;
        CAPTURE(decltype(seed)::value);
        const std::vector<edge> edges{constants<s, conv, ts::relu>(),
                                      constants<s, ts::relu, strided>(),
                                      constants<s, strided, ts::flatten>(),
                                      constants<s, ts::flatten, fc1>(),
                                      constants<s, fc1, fc2>(),
                                      constants<s, fc2, ts::cross_entropy>()};
        constexpr ts::graph_view g = ts::describe<network, batch>();
        CHECK(edges == by_values(g, s::view()));
        check(s::view(), edges);
    };
    (one(std::integral_constant<int, Seeds>()), ...);
}

} // namespace

TEST_CASE("the bytes of a redistribution are those of the plan's copies and of the simulator's lanes") {
    check_constants(std::make_integer_sequence<int, 4>());
}

TEST_CASE("so are those of the functions behind it, for random strategies") {
    constexpr ts::graph_view g = ts::describe<network, batch>();
    test_support::coverage seen;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        CAPTURE(seed);
        const ts::strategy s = test_support::random_strategy(g, devices, seed, seen);
        check(s.view(), by_values(g, s.view()));
    }
    CHECK(seen.partial > 10);
    CHECK(seen.cuts > 10);
    CHECK(seen.replicas > 10);
    CHECK(seen.several > 10);
    for (const ts::collective k :
         {ts::collective::send, ts::collective::broadcast, ts::collective::scatter, ts::collective::gather,
          ts::collective::reduce, ts::collective::all_gather, ts::collective::reduce_scatter,
          ts::collective::all_reduce, ts::collective::all_to_all, ts::collective::halo_exchange}) {
        CAPTURE(std::string(to_text(k)));
        CHECK(kinds[static_cast<int>(k)] > 0);
    }
    CHECK(backward_moves > 40);
}
