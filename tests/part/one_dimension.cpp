// SPDX-License-Identifier: Apache-2.0
// Convolutions and pools of sequences against their definitions; as layers in strategies and messages.
#include "tessera/part/one_dimension.hpp"
#include "support/refusal.hpp"
#include "tessera/backend/reference/network.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/strategy/typed_strategy.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace {

namespace ts = tessera;
using ts::index_t;

constexpr index_t batch = 3;
constexpr index_t length = 11;
constexpr index_t channels = 4;

struct plain : ts::conv1d<5, ts::window<3>> {};
struct strided : ts::conv1d<3, ts::window<4>, ts::stride<2>, ts::padding<2>> {};
struct dilated : ts::conv1d<2, ts::window<3>, ts::dilation<3>, ts::padding<3>, ts::no_bias> {};
struct grouped : ts::conv1d<6, ts::window<5>, ts::padding<2>, ts::groups<2>> {};

template <class L>
struct network : ts::sequential<ts::sequence<length, channels>, L, ts::cross_entropy> {};

/// The network after an evaluation of numbers that all differ.
struct evaluated {
    ts::graph g;
    ts::reference::network n;
    std::vector<double> x;

    explicit evaluated(ts::graph of) : g(std::move(of)), n(g.view()) {
        for (index_t i = 0; i < batch * length * channels; ++i) {
            x.push_back(static_cast<double>(i * 37 % 101) / 50 - 1);
        }
        n.initialize(5);
        for (int t = 0; t < g.view().tensor_count; ++t) {
            const ts::tensor_node& made = g.tensors[ts::to_size(t)];
            if (made.type == ts::element::i32) {
                n.set(t, std::span<const std::int32_t>(std::vector<std::int32_t>(ts::to_size(made.extents.volume()))));
            }
        }
        n.set(0, std::span<const double>(x));
        (void)n.evaluate();
    }
    double at(index_t s, index_t t, index_t c) const { return x[ts::to_size((s * length + t) * channels + c)]; }
    /// What the layer hands to the loss.
    const ts::tensor_node& last() const { return g.tensors[ts::to_size(g.ops.back().inputs[0])]; }
    const std::vector<double>& made() const { return n.values[ts::to_size(g.ops.back().inputs[0])]; }
};

template <class L>
void check_convolution() {
    const evaluated e(ts::describe<network<L>>(batch));
    const auto a = L::of_row.template as<ts::op::conv2d_attributes>();
    const index_t positions = (length + 2 * a.padding[1] - (a.window[1] - 1) * a.dilation[1] - 1) / a.stride[1] + 1;
    REQUIRE(e.last().extents == ts::make_shape(batch, positions, a.out));
    const index_t in = channels / a.groups;
    const std::vector<double>& w = e.n.parameters[0];
    std::size_t i = 0;
    for (index_t s = 0; s < batch; ++s) {
        for (index_t t = 0; t < positions; ++t) {
            for (index_t o = 0; o < a.out; ++o) {
                double sum = a.bias ? e.n.parameters[1][ts::to_size(o)] : 0;
                for (index_t c = 0; c < in; ++c) {
                    for (index_t k = 0; k < a.window[1]; ++k) {
                        const index_t p = t * a.stride[1] + k * a.dilation[1] - a.padding[1];
                        const index_t channel = o / (a.out / a.groups) * in + c;
                        sum += p < 0 || p >= length
                                   ? 0
                                   : w[ts::to_size((o * in + c) * a.window[1] + k)] * e.at(s, p, channel);
                    }
                }
                CHECK(e.made()[i++] == doctest::Approx(sum).epsilon(1e-12));
            }
        }
    }
}

template <class L>
void check_pool(bool largest) {
    const evaluated e(ts::describe<network<L>>(batch));
    const auto a = L::of_row.template as<ts::op::window_attributes>();
    const index_t positions = (length + 2 * a.padding[1] - a.window[1]) / a.stride[1] + 1;
    REQUIRE(e.last().extents == ts::make_shape(batch, positions, channels));
    std::size_t i = 0;
    for (index_t s = 0; s < batch; ++s) {
        for (index_t t = 0; t < positions; ++t) {
            for (index_t c = 0; c < channels; ++c) {
                double sum = 0;
                double most = -std::numeric_limits<double>::infinity();
                index_t count = 0;
                for (index_t k = 0; k < a.window[1]; ++k) {
                    const index_t p = t * a.stride[1] + k - a.padding[1];
                    if (p >= 0 && p < length) {
                        sum += e.at(s, p, c);
                        most = std::max(most, e.at(s, p, c));
                        ++count;
                    }
                }
                CHECK(e.made()[i++] == doctest::Approx(largest ? most : sum / static_cast<double>(count)));
            }
        }
    }
}

} // namespace

TEST_CASE("convolutions of sequences are those of their definition") {
    check_convolution<plain>();
    check_convolution<strided>();
    check_convolution<dilated>();
    check_convolution<grouped>();
}

TEST_CASE("pools of sequences are those of their definition") {
    check_pool<ts::max_pool1d<2>>(true);
    check_pool<ts::max_pool1d<4, ts::stride<3>, ts::padding<1>>>(true);
    check_pool<ts::average_pool1d<3>>(false);
    check_pool<ts::average_pool1d<4, ts::stride<2>, ts::padding<2>>>(false);
}

TEST_CASE("a convolution of sequences is a layer: its weights and splits have its name") {
    const ts::graph g = ts::describe<network<plain>>(batch);
    CHECK(std::string(g.parameters[0].layer) == "plain");
    CHECK(g.parameters[0].extents == ts::make_shape(5, 4, 1, 3));
    CHECK(g.parameters[0].fan_in == 12);
    using two = ts::sequential<ts::sequence<length, channels>, plain, strided, ts::cross_entropy>;
    using by_positions = ts::strategy_of<two, 3, batch, ts::on<plain, ts::split<ts::width, 3>>,
                                         ts::on<strided, ts::split<ts::channel, 3>>>;
    const ts::strategy s(by_positions::view());
    const ts::graph both = ts::describe<two>(batch);
    int named = 0;
    for (int op = 0; op < both.view().op_count; ++op) {
        const std::string name(both.ops[ts::to_size(op)].name);
        const int devices = s.ops[ts::to_size(op)].shards();
        named += (name == "plain" || name == "strided") && devices == 3 ? 1 : 0;
    }
    CHECK(named == 2);
}

TEST_CASE("a convolution of sequences refuses images, and windows that do not fit") {
    struct long_window : ts::conv1d<2, ts::window<12>> {};
    struct images : ts::sequential<ts::image<3, 8, 8>, plain, ts::flatten, ts::cross_entropy> {};
    CHECK(test_support::message_of([&] { ts::describe_at_run_time<images>(batch); }) ==
          test_support::text_of_rule(ts::rule::input_has_wrong_rank, "plain", "", 4, 3));
    const std::string text = test_support::message_of([&] { ts::describe_at_run_time<network<long_window>>(batch); });
    CHECK(text.find("the kernel is larger than its padded input") != std::string::npos);
    CHECK(text.find("long_window") != std::string::npos);
}
