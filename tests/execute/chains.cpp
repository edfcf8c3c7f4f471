// SPDX-License-Identifier: Apache-2.0
// Chains of operators in shards against the same operators one after the other on one device.
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/measure/sharded.hpp"
#include "tessera/layout/typed_redistribution.hpp"
#include "tessera/part/residual.hpp"
#include "tessera/plan/movements.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace {

namespace ts = tessera;

struct conv : ts::conv2d<6, ts::window<3>, ts::padding<1>> {};
struct norm : ts::batch_norm<> {};
struct pool : ts::max_pool<2> {};
struct first : ts::linear<12> {};
struct act : ts::tanh {};
struct second : ts::linear<8> {};
struct other : ts::sigmoid {};
struct words : ts::embedding<11, 6> {};

template <class Op, class... Options>
using alone = ts::sharded_on<ts::reference::backend, Op, Options...>;

void copy(const std::vector<float>& from, std::span<float> to) {
    REQUIRE(from.size() == to.size());
    std::copy(from.begin(), from.end(), to.begin());
}

double difference(const std::vector<float>& a, const std::vector<float>& b) {
    REQUIRE(a.size() == b.size());
    double apart = 0;
    double size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        apart += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
        size += std::pow(static_cast<double>(b[i]), 2);
    }
    REQUIRE(size > 0);
    return std::sqrt(apart / size);
}

/// Each operator by itself on one device, handed what the one before has made; then backward the other way. (A
/// parameter's initial values go by its number in the network, so they are set here.)
struct by_turns {
    std::vector<float> output, input_gradient;
    std::vector<std::vector<float>> gradients;
};
template <class Chain, class Op, class... Rest>
by_turns run_by_turns(Chain& chain, int number, const ts::shape& input, const std::vector<float>& values,
                      const std::vector<float>& output_gradient) {
    alone<Op> op{ts::local_devices(1), input};
    copy(values, op.input());
    const auto& own = op.network().ops[0].parameters;
    for (int slot = 0; slot < own.size(); ++slot) {
        const ts::index_t n = op.network().parameters[own[slot]].extents.volume();
        std::vector<float> w(ts::to_size(n));
        for (std::size_t i = 0; i < w.size(); ++i) {
            w[i] = static_cast<float>(static_cast<int>((i * 37 + ts::to_size(slot) * 11) % 19) - 9) / 16;
        }
        op.set_parameter(slot, w);
        chain.set_parameter(slot, w, number);
    }
    op.forward();
    by_turns all;
    all.output = op.output();
    std::vector<float> gradient = output_gradient;
    if constexpr (sizeof...(Rest) > 0) {
        all = run_by_turns<Chain, Rest...>(chain, number + 1, op.network().output_of(0).extents, op.output(),
                                           output_gradient);
        gradient = all.input_gradient;
    }
    copy(gradient, op.output_gradient());
    op.backward();
    all.input_gradient = op.input_gradient();
    for (int slot = 0; slot < own.size(); ++slot) {
        if (op.network().parameters[own[slot]].trained) {
            all.gradients.insert(all.gradients.begin() + slot, op.gradient(slot));
        }
    }
    return all;
}

template <class... Ops>
struct chain_of {
    template <class... Options>
    static ts::index_t check(int devices, const ts::shape& input) {
        using type = alone<ts::sequential<Ops...>, Options...>;
        type chain{ts::local_devices(devices), input};
        const std::vector<float> x(chain.input().begin(), chain.input().end());
        const std::vector<float> g(chain.output_gradient().begin(), chain.output_gradient().end());
        const by_turns expected = run_by_turns<type, Ops...>(chain, 0, input, x, g);
        chain.forward();
        chain.forward();
        chain.backward();
        chain.backward();
        CHECK(difference(chain.output(), expected.output) < 1e-6);
        CHECK(difference(chain.input_gradient(), expected.input_gradient) < 2e-5);
        std::size_t k = 0;
        for (int op = 0; op < chain.network().op_count; ++op) {
            const auto& own = chain.network().ops[op].parameters;
            for (int slot = 0; slot < own.size(); ++slot) {
                if (chain.network().parameters[own[slot]].trained) {
                    CHECK(difference(chain.gradient(slot, op), expected.gradients[k++]) < 2e-5);
                }
            }
        }
        CHECK(k == expected.gradients.size());
        return chain.bound().moved_bytes;
    }
};

using ts::on;
using ts::split;

TEST_CASE("a chain in shards computes what its operators compute one after the other on one device") {
    const ts::shape images = ts::make_shape(4, 3, 8, 8);
    using picture = chain_of<conv, ts::relu, pool>;
    CHECK(picture::check(1, images) == 0);
    picture::check<on<conv, split<ts::sample, 2>>, on<ts::relu, split<ts::channel, 2>>, on<pool, split<ts::height, 2>>>(
        2, images);
    picture::check<on<conv, split<ts::channel, 3>>, ts::others<split<ts::sample, 2>>>(3, images);
    picture::check<on<conv, split<ts::reduction, 3>>, on<ts::relu, split<ts::width, 4>>>(4, images);
    picture::check<on<conv, split<ts::height, 2>, ts::place<1, 0>>, on<pool, split<ts::channel, 2>, ts::replicate<2>>>(
        4, images);
    chain_of<conv, norm, ts::relu>::check<on<conv, split<ts::channel, 2>>,
                                          on<norm, split<ts::sample, 2>, ts::with_reduction>>(2, images);

    const ts::shape rows = ts::make_shape(6, 8);
    using mlp = chain_of<first, act, second, other>;
    mlp::check<on<first, split<ts::channel, 2>>, on<act, split<ts::channel, 2>>, on<second, split<ts::reduction, 2>>>(
        2, rows);
    mlp::check<on<first, split<ts::sample, 3>>, on<second, split<ts::channel, 4>>, on<other, split<ts::sample, 2>>>(
        4, rows);
}

TEST_CASE("between two operators a chain moves what the redistribution of their layouts moves, both ways") {
    using ts::dims;
    using ts::extents;
    using ts::layout;
    using ts::shards;
    using by_rows = layout<extents<8, 12>, dims<shards<4>, shards<1>>>;
    using by_columns = layout<extents<8, 12>, dims<shards<1>, shards<2>>>;
    constexpr ts::index_t there = ts::redistribution<by_rows, by_columns>::bytes;
    constexpr ts::index_t back = ts::redistribution<by_columns, by_rows>::bytes;
    static_assert(there > 0 && back > 0);
    alone<ts::sequential<act, other>, on<act, split<ts::sample, 4>>, on<other, split<ts::channel, 2>>> op{
        ts::local_devices(4), ts::make_shape(8, 12)};
    CHECK(op.moved_bytes() == there + back);
    ts::index_t forward = 0;
    ts::index_t backward = 0;
    for (const ts::movement& m : ts::movements_of(op.network(), op.bound())) {
        (m.when == ts::pass::forward ? forward : backward) += m.bytes;
    }
    CHECK(forward == there);
    CHECK(backward == back);

    // The same split twice moves nothing.
    alone<ts::sequential<act, other>, ts::others<split<ts::sample, 4>>> same{ts::local_devices(4),
                                                                             ts::make_shape(8, 12)};
    CHECK(same.moved_bytes() == 0);
    // Summands of a split sum are added up where they are read; what is read there is their whole gradient.
    using summands = layout<extents<8, 12>, dims<shards<1>, shards<1>>, ts::replicate<1>, ts::partial<2>>;
    using halves = layout<extents<8, 12>, dims<shards<2>, shards<1>>>;
    alone<ts::sequential<first, act>, on<first, split<ts::reduction, 2>>, on<act, split<ts::sample, 2>>> sums{
        ts::local_devices(2), ts::make_shape(8, 6)};
    ts::index_t added = 0;
    for (const ts::movement& m : ts::movements_of(sums.network(), sums.bound())) {
        added += m.what == ts::tile_kind::activation && m.source == 0 ? m.bytes : 0;
    }
    CHECK(added == ts::redistribution<summands, halves>::bytes);
}

TEST_CASE("a chain may begin with a look-up, end with a loss and hold other parts") {
    alone<ts::sequential<words, first, ts::cross_entropy>, on<first, split<ts::channel, 2>>> op{ts::local_devices(2),
                                                                                                ts::make_shape(4, 5)};
    CHECK(op.labels().size() == 4 * 5);
    for (std::size_t i = 0; i < op.labels().size(); ++i) {
        op.labels()[i] = static_cast<std::int32_t>(i % 12); // classes, not words
    }
    op.forward();
    op.backward();
    CHECK(op.output().size() == 4 * 5);
    CHECK(op.forward_flops() >= 2 * 4 * 5 * 6 * 12);
    alone<ts::sequential<ts::residual<second>, act>, on<second, split<ts::sample, 2>>> parts{ts::local_devices(2),
                                                                                             ts::make_shape(4, 8)};
    parts.forward();
    parts.backward();
    const std::vector<float> x(parts.input().begin(), parts.input().end());
    CHECK(parts.output().size() == x.size());
    CHECK(parts.input_gradient().size() == x.size());
}

TEST_CASE("extents of the inputs let the compiler check, and make the same plan") {
    using ts::extents;
    alone<ts::sequential<conv, ts::relu>, extents<4, 3, 8, 8>, on<conv, split<ts::channel, 2>>> fixed{
        ts::local_devices(2)};
    alone<ts::sequential<conv, ts::relu>, on<conv, split<ts::channel, 2>>> open{ts::local_devices(2),
                                                                                ts::make_shape(4, 3, 8, 8)};
    CHECK(fixed.bound().hash == open.bound().hash);
    alone<ts::multiply, extents<4, 5>, extents<4, 5>, split<ts::sample, 2>> two{ts::local_devices(2)};
    alone<ts::multiply, split<ts::sample, 2>> same{ts::local_devices(2),
                                                   std::vector<ts::shape>{ts::make_shape(4, 5), ts::make_shape(4, 5)}};
    CHECK(two.bound().hash == same.bound().hash);
}

TEST_CASE("a chain that breaks a rule is refused with the rule's words") {
    using uneven = alone<ts::sequential<conv, ts::relu>, on<conv, split<ts::channel, 4>>>;
    CHECK_THROWS_WITH_AS((uneven{ts::local_devices(4), ts::make_shape(4, 3, 8, 8)}),
                         "tessera: the degree does not divide the extent; say uneven if uneven shards are meant [layer "
                         "conv, along channel, found 4, needed 6]",
                         ts::error);
    using stranger = alone<ts::sequential<conv, ts::relu>, on<second, split<ts::channel, 4>>>;
    CHECK_THROWS_AS((stranger{ts::local_devices(4), ts::make_shape(4, 3, 8, 8)}), ts::error);
    using flat = alone<ts::sequential<first, conv>>;
    CHECK_THROWS_AS((flat{ts::local_devices(1), ts::make_shape(4, 3)}), ts::error);
    using crowded = alone<ts::sequential<first, act>, on<act, split<ts::sample, 4>>>;
    CHECK_THROWS_AS((crowded{ts::local_devices(2), ts::make_shape(4, 3)}), ts::error);
    CHECK_THROWS_AS((alone<ts::sequential<act>>{ts::local_devices(1), std::vector<ts::shape>{}}), ts::error);
    CHECK_THROWS_AS((alone<ts::sequential<act>>{ts::local_devices(1), std::vector<ts::shape>(2, ts::make_shape(4, 3))}),
                    ts::error);
}

} // namespace
