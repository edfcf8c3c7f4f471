// SPDX-License-Identifier: Apache-2.0
// Networks that break a rule: at run time an exception with the words of the rule, the layer, the dimension and the
// numbers, and in a constant expression the same problem, of which tests/compile_fail shows the message.
#include "support/refusal.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/op/fixed_batch_norm.hpp"
#include "tessera/part/residual.hpp"

#include <doctest/doctest.h>

#include <string>
#include <type_traits>
#include <vector>

namespace {

namespace ts = tessera;
using test_support::text_of_rule;
using ts::rule;

constexpr ts::index_t batch = 8;

template <class Net>
std::string verdict(ts::index_t samples = batch) {
    return test_support::message_of([&] { ts::describe_at_run_time<Net>(samples); });
}

/// The wrong network is refused as stated, at run time and in a constant expression; its correction is accepted by
/// both.
template <class Wrong, class Right>
void check(rule broken, const std::string& layer, const std::string& along, ts::index_t found, ts::index_t needed) {
    CHECK(verdict<Wrong>() == text_of_rule(broken, layer, along, found, needed));
    CHECK(verdict<Right>() == "accepted");
    constexpr ts::problem constant = ts::detail::storage_of<Wrong, batch>.refused;
    CHECK(ts::to_text(constant, layer) == text_of_rule(broken, layer, along, found, needed));
    CHECK(ts::detail::storage_of<Right, batch>.refused.broken == rule::none);
}

template <class... Parts>
using on_image = ts::sequential<ts::image<4, 8, 8>, Parts..., ts::flatten, ts::cross_entropy>;
template <class... Parts>
using on_features = ts::sequential<ts::features<16>, Parts..., ts::cross_entropy>;

template <class... Options>
struct conv : ts::conv2d<8, Options...> {};
template <ts::index_t Out>
struct fc : ts::linear<Out> {};
struct norm : ts::batch_norm<> {};
struct fixed : ts::fixed_batch_norm<> {};
struct skip;
struct other;

} // namespace

TEST_CASE("windows that do not fit") {
    check<on_image<conv<ts::window<9, 1>>>, on_image<conv<ts::window<8, 1>>>>(rule::kernel_larger_than_padded_input,
                                                                              "conv<window<9,1>>", "height", 9, 8);
    check<on_image<conv<ts::window<1, 4>, ts::dilation<1, 3>>>,
          on_image<conv<ts::window<1, 4>, ts::dilation<1, 3>, ts::padding<0, 1>>>>(
        rule::kernel_larger_than_padded_input, "conv<window<1,4>,dilation<1,3>>", "width", 10, 8);
    check<on_image<ts::max_pool<9>>, on_image<ts::max_pool<8>>>(rule::kernel_larger_than_padded_input, "max_pool",
                                                                "height", 9, 8);
    check<on_image<ts::average_pool<2, ts::padding<1, 2>>>, on_image<ts::average_pool<2, ts::padding<1, 1>>>>(
        rule::padding_not_smaller_than_kernel, "average_pool", "width", 2, 2);
    check<on_image<conv<ts::stride<0, 1>>>, on_image<conv<ts::stride<2, 1>>>>(rule::extent_is_zero, "conv<stride<0,1>>",
                                                                              "height", 0, 1);
}

TEST_CASE("counts that do not fit") {
    check<on_image<conv<ts::groups<3>>>, on_image<conv<ts::groups<4>>>>(rule::groups_do_not_divide_channels,
                                                                        "conv<groups<3>>", "", 4, 3);
    check<on_features<fc<0>>, on_features<fc<1>>>(rule::extent_is_zero, "fc<0>", "", 0, 1);
    check<ts::sequential<ts::features<0>, fc<3>, ts::cross_entropy>,
          ts::sequential<ts::features<1>, fc<3>, ts::cross_entropy>>(rule::extent_is_zero, "fc<3>", "", 0, 1);
    check<on_features<ts::dropout<100>>, on_features<ts::dropout<99>>>(rule::percent_out_of_range, "dropout", "", 100,
                                                                       99);
    check<on_features<ts::channel_dropout<-1>>, on_features<ts::channel_dropout<0>>>(rule::percent_out_of_range,
                                                                                     "channel_dropout", "", -1, 99);
}

TEST_CASE("shapes that do not fit") {
    check<ts::sequential<ts::image<4, 8, 8>, fc<3>, ts::cross_entropy>, on_image<>>(rule::input_has_wrong_rank, "fc<3>",
                                                                                    "", 4, 2);
    check<on_features<ts::max_pool<1>>, on_features<ts::relu>>(rule::input_has_wrong_rank, "max_pool", "", 2, 4);
    check<on_image<ts::residual<conv<>>>, on_image<conv<>, ts::residual<conv<ts::no_bias>>>>(rule::branch_changes_shape,
                                                                                             "conv", "channel", 8, 4);
    check<on_image<ts::residual<ts::max_pool<3, ts::stride<1>, ts::padding<0, 1>>>>,
          on_image<ts::residual<ts::max_pool<3, ts::stride<1>, ts::padding<1, 1>>>>>(rule::branch_changes_shape,
                                                                                     "max_pool", "height", 6, 8);
    check<on_image<ts::branches<ts::add, ts::branch<>, ts::branch<conv<>>>>,
          on_image<ts::branches<ts::concat, ts::branch<>, ts::branch<conv<>>>>>(rule::shapes_differ, "add", "channel",
                                                                                8, 4);
    check<
        on_image<ts::branches<ts::concat, ts::branch<>, ts::branch<ts::max_pool<3, ts::stride<1>, ts::padding<0, 1>>>>>,
        on_image<
            ts::branches<ts::concat, ts::branch<>, ts::branch<ts::max_pool<3, ts::stride<1>, ts::padding<1, 1>>>>>>(
        rule::concat_shapes_differ, "concat", "height", 6, 8);
    check<on_image<ts::branches<ts::multiply, ts::branch<>>>,
          on_image<ts::branches<ts::multiply, ts::branch<>, ts::branch<>>>>(rule::wrong_number_of_inputs, "multiply",
                                                                            "", 1, 2);
}

TEST_CASE("parts that do not fit together") {
    check<on_features<fc<16>, fc<16>>, on_features<fc<16>, ts::shared<fc<16>>>>(rule::layer_used_twice, "fc<16>", "", 2,
                                                                                1);
    check<on_features<fc<8>, ts::shared<fc<8>>>, on_features<fc<16>, ts::shared<fc<16>>>>(
        rule::shared_parameters_differ, "fc<8>", "", 64, 128);
    check<on_features<ts::shared<norm>, ts::relu, ts::shared<norm>>,
          on_features<ts::shared<fixed>, ts::relu, ts::shared<fixed>>>(rule::running_statistics_shared, "norm", "", 2,
                                                                       1);
    check<on_features<ts::tap<ts::add, skip>>, on_features<ts::save<skip>, ts::tap<ts::add, skip>>>(rule::tap_not_saved,
                                                                                                    "skip", "", 0, 1);
    check<on_features<ts::save<skip>, ts::save<skip>>, on_features<ts::save<skip>, ts::save<other>>>(
        rule::tap_saved_twice, "skip", "", 2, 1);
    check<ts::sequential<ts::features<3>, ts::cross_entropy, ts::relu>,
          ts::sequential<ts::features<3>, ts::relu, ts::cross_entropy>>(rule::loss_has_consumer, "relu", "", 1, 0);
    check<ts::sequential<ts::features<3>, fc<3>>, ts::sequential<ts::features<3>, fc<3>, ts::cross_entropy>>(
        rule::network_has_no_loss, "(the network itself)", "", 0, 1);
    check<ts::sequential<ts::relu, ts::cross_entropy>, ts::sequential<ts::features<3>, ts::relu, ts::cross_entropy>>(
        rule::input_not_first, "(the network itself)", "", 0, 1);
    check<on_features<int, fc<8>>, on_features<fc<8>>>(rule::no_layer, "int", "", 0, 1);
}

TEST_CASE("a batch has at least one sample") {
    CHECK(verdict<on_features<>>(0) == text_of_rule(rule::batch_is_empty, "(the network itself)", "", 0, 1));
    CHECK(verdict<on_features<>>(-4) == text_of_rule(rule::batch_is_empty, "(the network itself)", "", -4, 1));
    CHECK(verdict<on_features<>>(1) == "accepted");
}

namespace {

/// Parts of one's own: one appends more than it states, one states nothing, one hands on a tensor that is not there.
template <int Count>
struct understated {
    static constexpr int op_count = 1;
    template <int>
    static constexpr auto nth() {
        return ts::detail::identity<understated>{};
    }
    static constexpr int build(ts::graph_builder& b, int tensor) {
        for (int i = 0; i < Count; ++i) {
            tensor = ts::detail::append<ts::relu>(b, tensor);
        }
        return tensor;
    }
};
struct unstated {
    static constexpr int build(ts::graph_builder& b, int tensor) { return understated<5>::build(b, tensor); }
};
template <int Tensor>
struct astray {
    static constexpr int build(ts::graph_builder&, int) { return Tensor; }
};

} // namespace

TEST_CASE("room is counted: a part may have more operators than it states, or state none") {
    using network = on_features<understated<100>, fc<8>, unstated, ts::shared<fc<8>>>;
    constexpr int operators = 100 + 1 + 5 + 1 + 1;
    CHECK(ts::describe<on_features<understated<100>, fc<8>, unstated>>(batch).ops.size() == operators - 1);
    static_assert(ts::describe<on_features<understated<100>, fc<8>, unstated>, batch>().op_count == operators - 1);
    // A rule that is broken behind such a part names the layer at run time, and the network where only a type will do.
    CHECK(verdict<network>() == text_of_rule(rule::shared_parameters_differ, "fc<8>", "", 64, 128));
    static_assert(ts::detail::storage_of<network, batch>.misnumbered);
    static_assert(std::is_same_v<ts::layer_at<network, -1>::type, network>);
}

TEST_CASE("a part that hands on what is not there is refused") {
    constexpr int there = 2; // the input and what relu makes of it
    CHECK(verdict<on_features<ts::relu, astray<77>, ts::relu>>() ==
          text_of_rule(rule::unknown_tensor, "relu", "", 77, there));
    CHECK(verdict<on_features<ts::relu, astray<-1>, ts::save<skip>>>() ==
          text_of_rule(rule::unknown_tensor, "skip", "", -1, there));
    CHECK(verdict<on_features<ts::relu, astray<-1>>>() ==
          text_of_rule(rule::unknown_tensor, "cross_entropy", "", -1, there + 1));
    static_assert(ts::detail::storage_of<on_features<ts::relu, astray<77>, ts::relu>, batch>.refused.broken ==
                  rule::unknown_tensor);
}

TEST_CASE("names fit in the builder or are refused") {
    constexpr int most = ts::graph_builder::max_taps;
    ts::graph_builder b;
    REQUIRE(b.add_input(ts::make_shape(batch, 1), ts::element::f32, "input") == 0);
    for (int i = 0; i < most; ++i) {
        REQUIRE(b.add_tap(static_cast<ts::type_key>(i) + 1, "name", 0, rule::node_named_twice) == 0);
    }
    CHECK(b.add_tap(static_cast<ts::type_key>(most) + 1, "last", 0, rule::node_named_twice) == -1);
    CHECK(ts::to_text(b.refused, b.refused_at) == text_of_rule(rule::too_many_names, "last", "", most + 1, most));
}
