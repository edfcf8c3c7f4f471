// SPDX-License-Identifier: Apache-2.0
// Kernels of rows (normalizations, rotary positions, softmax, cross-entropy, gates): every pass in random shards, by
// each set of vector instructions, held against the reference in double precision; with numbers that are not finite,
// too. And the tables of rotary positions.
#include "support/host_operators.hpp"
#include "support/instruction_sets.hpp"
#include "tessera/backend/host/op/rotary.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using namespace tests;
namespace host = ts::host;
using test_support::on_every_instruction_set;

namespace {

std::vector<op_case> cases() {
    using ts::make_shape;
    using ts::op_kind;
    return {
        {"layer_norm", {.kind = op_kind::layer_norm}, {make_shape(3, 2, 7)}},
        {"layer_norm, longer than a sum in float", {.kind = op_kind::layer_norm}, {make_shape(2, 2100)}},
        {"rms_norm", {.kind = op_kind::rms_norm}, {make_shape(3, 2, 7)}},
        {"rms_norm, longer than a sum in float", {.kind = op_kind::rms_norm}, {make_shape(2, 2100)}},
        {"rms_norm of another epsilon",
         ts::attributes_of(op_kind::rms_norm, ts::op::rms_norm_attributes{.epsilon = 0.5}),
         {make_shape(5, 33)}},
        {"rotary",
         ts::attributes_of(op_kind::rotary, ts::op::rotary_attributes{.heads = 3}),
         {make_shape(2, 5, 6 * 11)}},
        {"rotary of one head", {.kind = op_kind::rotary}, {make_shape(2, 5, 38)}},
        {"rotary of halves",
         ts::attributes_of(op_kind::rotary, ts::op::rotary_attributes{.heads = 3, .base = 500, .halves = true}),
         {make_shape(2, 5, 6 * 19)}},
        {"rotary of halves, scaled",
         ts::attributes_of(
             op_kind::rotary,
             ts::op::rotary_attributes{
                 .heads = 2, .base = 50, .halves = true, .factor = 8, .low = 1, .high = 4, .original = 32}),
         {make_shape(1, 40, 2 * 16)}},
        {"softmax", {.kind = op_kind::softmax}, {make_shape(3, 2, 2, 37)}},
        {"softmax, longer than a sum in float", {.kind = op_kind::softmax}, {make_shape(2, 2100)}},
        {"softmax, causal",
         ts::attributes_of(op_kind::softmax, ts::op::softmax_attributes{.causal = true}),
         {make_shape(2, 2, 35, 35)}},
        {"cross_entropy", {.kind = op_kind::cross_entropy}, {make_shape(5, 70), make_shape(5)}},
        {"cross_entropy of sequences", {.kind = op_kind::cross_entropy}, {make_shape(2, 3, 70), make_shape(2, 3)}},
        {"cross_entropy of a vocabulary", {.kind = op_kind::cross_entropy}, {make_shape(1, 2, 2100), make_shape(1, 2)}},
        {"silu_gate", {.kind = op_kind::silu_gate}, {make_shape(3, 37), make_shape(3, 37)}},
        {"gelu_gate", {.kind = op_kind::gelu_gate}, {make_shape(3, 37), make_shape(3, 37)}},
        {"relu_gate", {.kind = op_kind::relu_gate}, {make_shape(3, 37), make_shape(3, 37)}},
    };
}

} // namespace

TEST_CASE("kernels of rows compute what the reference does, whole and in shards") {
    on_every_instruction_set([] {
        host_operators::tester every_way;
        for (const op_case& c : cases()) {
            every_way.check_row(c, 5, 12);
        }
        CHECK(every_way.candidates > 100);
    });
}

TEST_CASE("kernels of rows pass on what is not finite as the reference does") {
    on_every_instruction_set([] {
        for (const double what : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
            for (const op_case& c : cases()) {
                host_operators::tester every_way;
                every_way.check_row(c, 5, 2, [&](op_instance& op) { op.value[0].numbers[3] = what; });
                if (!op_instance(c).is_loss()) {
                    every_way.check_row(
                        c, 5, 2, [&](op_instance& op) { op.gradient[ts::to_size(op.d.output())].numbers[4] = what; });
                }
            }
        }
    });
}

TEST_CASE("tables of rotary positions are shared, and the frequencies of LLaMA 3.1 are those of its configuration") {
    const ts::op::rotary_attributes plain{.heads = 1, .base = 500000};
    const auto one = host::detail::rotary_table_of(plain, 64, 0, 8);
    CHECK(host::detail::rotary_table_of(plain, 64, 0, 8) == one);
    CHECK(host::detail::rotary_table_of(plain, 64, 1, 8) != one);
    const ts::op::rotary_attributes scaled{
        .heads = 1, .base = 500000, .factor = 8, .low = 1, .high = 4, .original = 8192};
    const auto other = host::detail::rotary_table_of(scaled, 64, 0, 8);
    REQUIRE(other != one);
    // Pairs are neighbours: the sine of the first of two has a minus. Fast pairs are as they were, the slowest turn 8
    // times slower, and of those between one is here by its numbers.
    const auto angle = [](const auto& table, std::size_t pair) {
        return static_cast<double>(std::asin(table->sine[128 + 2 * pair + 1]));
    };
    CHECK(angle(other, 10) == doctest::Approx(angle(one, 10)).epsilon(1e-6));
    CHECK(angle(other, 63) == doctest::Approx(angle(one, 63) / 8).epsilon(1e-6));
    const double frequency = std::pow(500000.0, -31.0 / 64);
    const double turns = 8192 * frequency / 6.283185307179586;
    REQUIRE(turns > 1);
    REQUIRE(turns < 4);
    const double smooth = (turns - 1) / 3;
    CHECK(angle(other, 31) == doctest::Approx((1 - smooth) * frequency / 8 + smooth * frequency).epsilon(1e-6));
}
