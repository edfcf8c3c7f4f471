// SPDX-License-Identifier: Apache-2.0
// Shapes of outputs, and the rules that inputs can break, against formulas and by the words a user reads.
#include "op/table.hpp"
#include "support/refusal.hpp"
#include "tessera/net/dag.hpp"
#include "tessera/net/describe.hpp"

#include <doctest/doctest.h>

#include <range/v3/iterator/operations.hpp>
#include <range/v3/view/cartesian_product.hpp>
#include <range/v3/view/iota.hpp>

#include <string>

namespace {

using namespace tests;
using ts::make_shape;
using ts::op_attributes;
using ts::op_kind;
using ts::rule;

/// Outputs of a window by trying every start in the padded input.
ts::index_t count_windows(ts::index_t extent, ts::index_t window, ts::index_t stride, ts::index_t padding,
                          ts::index_t dilation) {
    ts::index_t count = 0;
    for (ts::index_t start = -padding; start + (window - 1) * dilation < extent + padding; start += stride) {
        ++count;
    }
    return count;
}

rule broken_by(const op_attributes& a, const std::vector<ts::shape>& inputs) {
    return ts::infer(a, inputs.data(), static_cast<int>(inputs.size())).refused.broken;
}

struct conv1 : ts::conv2d<6, ts::window<5>, ts::padding<2>> {};
struct conv2 : ts::conv2d<16, ts::window<5>> {};
struct fc1 : ts::linear<120> {};
struct lenet : ts::sequential<ts::image<1, 28, 28>, conv1, ts::tanh, ts::average_pool<2>, conv2, ts::tanh,
                              ts::average_pool<2>, ts::flatten, fc1, ts::cross_entropy> {};

struct big : ts::conv2d<4, ts::window<9>> {};
struct kernel_too_large : ts::sequential<ts::image<1, 8, 8>, big, ts::flatten, ts::cross_entropy> {};
struct grouped : ts::conv2d<4, ts::groups<3>> {};
struct groups_wrong : ts::sequential<ts::image<4, 8, 8>, grouped, ts::flatten, ts::cross_entropy> {};
struct dense : ts::linear<4> {};
struct not_flattened : ts::sequential<ts::image<4, 8, 8>, dense, ts::cross_entropy> {};
struct wide_padding
    : ts::sequential<ts::image<4, 8, 8>, ts::max_pool<2, ts::padding<2>>, ts::flatten, ts::cross_entropy> {};
struct all_dropped : ts::sequential<ts::features<4>, ts::dropout<100>, ts::cross_entropy> {};

struct x;
struct y;
struct loss;
template <class Labels>
struct labelled
    : ts::dag<ts::input<x, ts::image<5, 3, 4>>, ts::input<y, Labels>, ts::node<loss, ts::cross_entropy, x, y>> {};

template <class Net>
std::string words(ts::index_t batch = 4) {
    return test_support::message_of([&] { ts::describe_at_run_time<Net>(batch); });
}

auto from_to(ts::index_t first, ts::index_t last) { return ranges::views::closed_iota(first, last); }

} // namespace

TEST_CASE("the extents of windows, against trying every start") {
    int accepted = 0;
    const auto all =
        ranges::views::cartesian_product(from_to(1, 9), from_to(1, 4), from_to(1, 3), from_to(0, 3), from_to(1, 3));
    for (const auto& [extent, window, stride, padding, dilation] : all) {
        const op_attributes a = ts::attributes_of(op_kind::conv2d, ts::op::conv2d_attributes{.window = {window, 1},
                                                                                             .stride = {stride, 1},
                                                                                             .padding = {padding, 0},
                                                                                             .dilation = {dilation, 1},
                                                                                             .out = 2});
        const ts::shape in = make_shape(2, 3, extent, 5);
        const ts::inferred r = ts::infer(a, &in, 1);
        const ts::index_t count = count_windows(extent, window, stride, padding, dilation);
        const bool legal = count > 0 && padding < (window - 1) * dilation + 1;
        CHECK(static_cast<bool>(r.refused) == !legal);
        if (legal) {
            CHECK(r.output == make_shape(2, 2, count, 5));
            ++accepted;
        }
    }
    CHECK(ranges::distance(all) == 9 * 4 * 3 * 4 * 3);
    CHECK(accepted > 300);
}

TEST_CASE("LeNet-5's tensors, by hand") {
    const ts::graph g = ts::describe<lenet>(32);
    const std::vector<ts::shape> expected = {make_shape(32, 1, 28, 28),
                                             make_shape(32, 6, 28, 28),
                                             make_shape(32, 6, 28, 28),
                                             make_shape(32, 6, 14, 14),
                                             make_shape(32, 16, 10, 10),
                                             make_shape(32, 16, 10, 10),
                                             make_shape(32, 16, 5, 5),
                                             make_shape(32, 400),
                                             make_shape(32, 120),
                                             make_shape(32),
                                             make_shape(32)};
    REQUIRE(g.tensors.size() == expected.size());
    for (std::size_t t = 0; t < expected.size(); ++t) {
        CAPTURE(t);
        CHECK(g.tensors[t].extents == expected[t]);
    }
    REQUIRE(g.parameters.size() == 6);
    CHECK(g.parameters[2].extents == make_shape(16, 6, 5, 5));
    CHECK(g.parameters[2].fan_in == 150);
    CHECK(g.parameters[3].extents == make_shape(16));
    CHECK(g.parameters[3].fan_in == 150); // a bias is scaled like its weight
    CHECK(g.tensors[9].type == ts::element::i32);
}

TEST_CASE("what does not fit is refused by the rule that it breaks") {
    const op_attributes plain =
        ts::attributes_of(op_kind::conv2d, ts::op::conv2d_attributes{.window = {3, 3}, .out = 4});
    CHECK(broken_by(plain, {make_shape(2, 3, 2, 8)}) == rule::kernel_larger_than_padded_input);
    CHECK(broken_by(plain, {make_shape(2, 3)}) == rule::input_has_wrong_rank);
    CHECK(broken_by(plain, {make_shape(0, 3, 8, 8)}) == rule::batch_is_empty);
    CHECK(broken_by(plain, {make_shape(2, 3, 8, 8), make_shape(2, 3, 8, 8)}) == rule::wrong_number_of_inputs);
    CHECK(broken_by(ts::attributes_of(op_kind::conv2d, ts::op::conv2d_attributes{.out = 0}),
                    {make_shape(2, 3, 8, 8)}) == rule::extent_is_zero);
    CHECK(broken_by(ts::attributes_of(op_kind::conv2d, ts::op::conv2d_attributes{.stride = {0, 1}, .out = 4}),
                    {make_shape(2, 3, 8, 8)}) == rule::extent_is_zero);
    CHECK(broken_by(ts::attributes_of(op_kind::conv2d, ts::op::conv2d_attributes{.out = 4, .groups = 2}),
                    {make_shape(2, 3, 8, 8)}) == rule::groups_do_not_divide_channels);
    CHECK(broken_by(ts::attributes_of(op_kind::conv2d, ts::op::conv2d_attributes{.out = 3, .groups = 2}),
                    {make_shape(2, 4, 8, 8)}) == rule::groups_do_not_divide_channels);
    CHECK(broken_by(ts::attributes_of(op_kind::max_pool, ts::op::pool_attributes{.window = {2, 2}, .padding = {2, 0}}),
                    {make_shape(2, 4, 8, 8)}) == rule::padding_not_smaller_than_kernel);
    CHECK(broken_by(ts::attributes_of(op_kind::linear, ts::op::linear_attributes{.out = 3}),
                    {make_shape(2, 4, 8, 8)}) == rule::input_has_wrong_rank);
    CHECK(broken_by({.kind = op_kind::add}, {make_shape(2, 4), make_shape(2, 5)}) == rule::shapes_differ);
    // Samples are not broadcast, nor is what has another extent than 1.
    CHECK(broken_by({.kind = op_kind::add}, {make_shape(2, 4), make_shape(1, 4)}) == rule::shapes_differ);
    CHECK(broken_by({.kind = op_kind::multiply}, {make_shape(3, 4, 2), make_shape(3, 4)}) == rule::shapes_differ);
    CHECK(broken_by({.kind = op_kind::add}, {make_shape(2, 4)}) == rule::wrong_number_of_inputs);
    CHECK(broken_by({.kind = op_kind::concat}, {make_shape(2, 4)}) == rule::wrong_number_of_inputs);
    CHECK(broken_by({.kind = op_kind::concat}, {make_shape(2, 4, 3, 3), make_shape(2, 4, 3, 2)}) ==
          rule::concat_shapes_differ);
    CHECK(broken_by({.kind = op_kind::concat}, {make_shape(2, 4), make_shape(3, 4)}) == rule::concat_shapes_differ);
    CHECK(broken_by(ts::attributes_of(op_kind::dropout, ts::op::dropout_attributes{.percent = 100}),
                    {make_shape(2, 4)}) == rule::percent_out_of_range);
    CHECK(broken_by({.kind = op_kind::cross_entropy}, {make_shape(2, 4), make_shape(3)}) == rule::labels_do_not_fit);
    CHECK(broken_by({.kind = op_kind::cross_entropy}, {make_shape(2, 4), make_shape(2, 1)}) == rule::labels_do_not_fit);
    CHECK(broken_by({.kind = op_kind::cross_entropy}, {make_shape(2), make_shape(2)}) == rule::input_has_wrong_rank);
    CHECK(broken_by({.kind = op_kind::concat}, {make_shape(2, 4), make_shape(2, 9)}) == rule::none);
}

TEST_CASE("the exception names the layer, the dimension and the numbers") {
    CHECK(words<lenet>() == "accepted");
    CHECK(words<lenet>(0) ==
          "tessera: the batch must have at least one sample [layer (the network itself), found 0, needed 1]");
    CHECK(words<kernel_too_large>() ==
          "tessera: the kernel is larger than its padded input; pad the input or shrink the kernel "
          "[layer big, along height, found 9, needed 8]");
    CHECK(words<groups_wrong>() ==
          "tessera: the groups must divide the input and the output channels [layer grouped, found 4, needed 3]");
    CHECK(words<not_flattened>() ==
          "tessera: the input has the wrong number of dimensions for this layer; flatten images "
          "before a linear layer or a layer norm [layer dense, found 4, needed 2]");
    CHECK(words<wide_padding>() == "tessera: the padding must be smaller than the kernel, or some outputs see no input "
                                   "[layer max_pool, along height, found 2, needed 2]");
    CHECK(
        words<all_dropped>() ==
        "tessera: a dropout rate must be at least 0 and less than 100 per cent [layer dropout, found 100, needed 99]");
}

TEST_CASE("labels are integers of the right shape") {
    const std::string refused =
        "tessera: the labels must be integers with the shape of the logits without their classes [layer loss, ";
    CHECK(words<labelled<ts::label_map<3, 4>>>() == "accepted");
    CHECK(words<labelled<ts::label_map<3, 5>>>() == refused + "found 5, needed 4]");
    CHECK(words<labelled<ts::labels>>() == refused + "found 1, needed 3]");
    CHECK(words<labelled<ts::image<5, 3, 4>>>() == refused + "found 4, needed 3]");
}

// The same shapes in a constant expression.
static_assert(ts::describe<lenet, 8>().tensors[6].extents == make_shape(8, 16, 5, 5));
static_assert(ts::check_network<lenet, 8>::ok);
