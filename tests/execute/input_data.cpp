// SPDX-License-Identifier: Apache-2.0
// What a batch, an optimizer or a set of feeds that does not fit is told.
#include "tessera/execute/batch.hpp"

#include "support/refusal.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/op/optimizer_rules.hpp"
#include "tessera/op/records.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace {

namespace ts = tessera;
using test_support::contains;
using test_support::message_of;

struct pixels : ts::conv2d<3, ts::window<1>> {};
struct per_pixel : ts::sequential<ts::image<1, 4, 5>, pixels, ts::cross_entropy> {};
struct parts : ts::conv3d<3, ts::window<1>> {};
struct per_voxel : ts::sequential<ts::volume<1, 3, 4, 5>, parts, ts::cross_entropy> {};
struct words : ts::embedding<7, 3> {};
struct per_position : ts::sequential<ts::tokens<6>, words, ts::cross_entropy> {};
struct fc : ts::linear<3> {};
struct per_sample : ts::sequential<ts::features<2>, fc, ts::cross_entropy> {};

/// What a batch of zeros is told, in which label (the last input) `at` is `value`.
template <class Net>
std::string with_label(ts::index_t at, std::int32_t value) {
    const ts::graph g = ts::describe<Net>(8);
    const ts::graph_view v = g.view();
    std::vector<std::vector<float>> numbers;
    std::vector<std::vector<std::int32_t>> integers;
    std::vector<ts::input_data> inputs;
    for (int t = 0; t < v.tensor_count; ++t) {
        if (v.tensors[t].producer >= 0) {
            continue;
        }
        const auto count = ts::to_size(v.tensors[t].extents.volume());
        if (v.tensors[t].type == ts::element::i32) {
            integers.emplace_back(count, 0);
            inputs.emplace_back(std::span<const std::int32_t>(integers.back()));
        } else {
            numbers.emplace_back(count, 0.0F);
            inputs.emplace_back(std::span<const float>(numbers.back()));
        }
    }
    integers.back()[ts::to_size(at)] = value;
    return message_of([&] { ts::detail::check_inputs(v, inputs); });
}

std::string with_sizes(std::size_t numbers, std::size_t labels) {
    const ts::graph g = ts::describe<per_sample>(8);
    const std::vector<float> x(numbers);
    const std::vector<std::int32_t> y(labels);
    const std::vector<ts::input_data> inputs{std::span<const float>(x), std::span<const std::int32_t>(y)};
    return message_of([&] { ts::detail::check_inputs(g.view(), inputs); });
}

} // namespace

TEST_CASE("labels and tokens that do not exist are named by sample and pixel or position") {
    CHECK(contains(with_label<per_sample>(3, 3), "label 3 of sample 3 is not one of the 3 classes"));
    CHECK(contains(with_label<per_pixel>(2 * 20 + 13, -1), "label -1 of sample 2, pixel (2, 3) is not one of the 3"));
    CHECK(contains(with_label<per_voxel>(2 * 60 + 33, 3), "label 3 of sample 2, voxel (1, 2, 3) is not one of the 3"));
    CHECK(contains(with_label<per_position>(5 * 6 + 4, 9), "label 9 of sample 5, position 4 is not one of the 3"));
    CHECK(with_label<per_pixel>(0, 2) == "accepted");
}

TEST_CASE("a batch of a wrong size says batch, and what is wrong with it") {
    CHECK(with_sizes(16, 8) == "accepted");
    CHECK(with_sizes(6, 3) == "accepted");
    CHECK(contains(with_sizes(18, 9), "a batch of 9 samples"));
    CHECK(contains(with_sizes(18, 9), "planned for at most 8"));
    CHECK(contains(with_sizes(5, 2), "the batch has 5 elements for the input"));
    CHECK(contains(with_sizes(5, 2), "no whole number of samples"));
    CHECK(contains(with_sizes(6, 4), "the batch has 4 samples for the input"));
    CHECK(contains(with_sizes(6, 4), "and 3 for the inputs before it"));
    CHECK(contains(with_sizes(0, 0), "the batch has no elements for the input"));
}

TEST_CASE("settings of an optimizer that make no sense are refused by name and number") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float inf = std::numeric_limits<float>::infinity();
    const auto told = [](const ts::optimizer& o) { return message_of([&] { ts::require(o); }); };
    CHECK(told(ts::sgd{}) == "accepted");
    CHECK(told(ts::adam{}) == "accepted");
    CHECK(told(ts::sgd{.learning_rate = 0}) == "accepted");
    CHECK(contains(told(ts::sgd{.momentum = 5}), "momentum is 5.0"));
    CHECK(contains(told(ts::sgd{.momentum = 1}), "momentum is 1.0"));
    CHECK(contains(told(ts::sgd{.momentum = nan}), "momentum is"));
    CHECK(contains(told(ts::sgd{.learning_rate = -1}), "learning rate is -1.0"));
    CHECK(contains(told(ts::sgd{.learning_rate = nan}), "learning rate is"));
    CHECK(contains(told(ts::sgd{.learning_rate = inf}), "learning rate is inf"));
    CHECK(contains(told(ts::sgd{.weight_decay = -0.5F}), "weight_decay is -0.5"));
    CHECK(contains(told(ts::adam{.beta1 = 1}), "beta1 is 1.0"));
    CHECK(contains(told(ts::adam{.beta2 = 1.5F}), "beta2 is 1.5"));
    CHECK(contains(told(ts::adam{.epsilon = 0}), "epsilon is 0.0"));
    CHECK(told(ts::lars{}) == "accepted");
    CHECK(told(ts::lamb{}) == "accepted");
    CHECK(contains(told(ts::lars{.trust_coefficient = 0}), "trust_coefficient is 0.0"));
    CHECK(contains(told(ts::lars{.epsilon = 0}), "epsilon is 0.0"));
    CHECK(contains(told(ts::lamb{.beta2 = 1}), "beta2 is 1.0"));
    CHECK(contains(told(ts::optimizer(ts::sgd{}, -1)), "clip_norm is -1.0"));
    CHECK(contains(told(ts::optimizer(ts::sgd{}, 0, 0)), "loss_scale is 0.0"));
    CHECK(contains(told(ts::optimizer(ts::sgd{}, 0, nan)), "loss_scale is"));
}
