// SPDX-License-Identifier: Apache-2.0
#include "tessera/cost/roofline.hpp"

#include "tessera/cost/profile.hpp"
#include "tessera/machine/presets.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;

} // namespace

TEST_CASE("roofline: the longer of arithmetic and traffic, at the shares of the peak") {
    ts::device_class d{"d", {100, 200, 300}, 1000, 0, 7, false};
    const ts::cost::roofline_efficiency all{{100, 50, 25}, 50};
    using ts::work_kind;
    CHECK(ts::cost::roofline_time({work_kind::convolution, 5000, 10}, d, all) == 7 + 50);
    CHECK(ts::cost::roofline_time({work_kind::matrix_product, 5000, 10}, d, all) == 7 + 50);
    CHECK(ts::cost::roofline_time({work_kind::elementwise, 5000, 10}, d, all) == 7 + 66);
    CHECK(ts::cost::roofline_time({work_kind::elementwise, 5000, 500}, d, all) == 7 + 1000);
    CHECK_THROWS_AS((void)ts::cost::roofline_time({work_kind::convolution, 5000, 10}, d, {{0, 50, 25}, 50}), ts::error);
    CHECK(ts::op::conv2d_record.facts.work == work_kind::convolution);
    CHECK(ts::op::linear_record.facts.work == work_kind::matrix_product);
    CHECK(ts::op::matmul_record.facts.work == work_kind::matrix_product); // attention's products
    CHECK(ts::op::softmax_record.facts.work == work_kind::elementwise);
    d.launch = 0;
    CHECK(ts::cost::roofline_time({work_kind::elementwise, 0, 0}, d, all) == 1);
}

TEST_CASE(
    "roofline: a task is priced with its device's rate for its kind of work in its precision, else with that of fp32") {
    using ts::precision;
    using ts::work_kind;
    const ts::cost::roofline_efficiency reached;
    for (ts::device_class c : {ts::machines::h200_nodes().classes[0], ts::machines::a100_nodes().classes[0],
                               ts::machines::v100_nodes().classes[0]}) {
        c.rates = {}; // of those by size tests/simulate/calibrate.cpp knows more
        for (const precision math :
             {precision::fp32, precision::tf32, precision::bf16, precision::fp16, precision::fp8}) {
            for (int k = 0; k < ts::work_kinds; ++k) {
                const ts::index_t own[] = {c.gigaflops[k], c.tf32_gigaflops[k], c.bf16_gigaflops[k],
                                           c.fp16_gigaflops[k],
                                           c.fp8_gigaflops[k] > 0 ? c.fp8_gigaflops[k] : c.bf16_gigaflops[k]};
                const ts::index_t rate = own[static_cast<int>(math)] > 0 ? own[static_cast<int>(math)] : own[0];
                constexpr ts::index_t flops = 1'000'000'000'000;
                // 10^9 operations per second are one per nanosecond.
                const ts::index_t expected = c.launch + flops * 100 / (rate * reached.compute[k]);
                CHECK(ts::cost::roofline_time({static_cast<work_kind>(k), flops, 8, math}, c) == expected);
                // Bytes take as long in any precision.
                CHECK(ts::cost::roofline_time({static_cast<work_kind>(k), 1, 1'000'000'000, math}, c) ==
                      c.launch + ts::index_t{1'000'000'000'000} * 100 / (c.memory_megabytes * reached.memory));
            }
        }
    }
    const ts::device_class h200 = ts::machines::h200_nodes().classes[0];
    CHECK(h200.rate(work_kind::convolution, precision::fp32) == 67000);
    CHECK(h200.rate(work_kind::matrix_product, precision::tf32) == 494500);
    CHECK(h200.rate(work_kind::matrix_product, precision::bf16) == 989500);
    CHECK(h200.rate(work_kind::elementwise, precision::bf16) == 67000);
    const ts::device_class v100 = ts::machines::v100_nodes().classes[0];
    CHECK(v100.rate(work_kind::matrix_product, precision::bf16) == 15700); // its tensor cores do not know bf16
    const ts::cluster a100(ts::machines::a100_nodes());
    CHECK(ts::uniform_machine(a100, precision::bf16).gigaflops == 312000);
    CHECK(ts::uniform_machine(a100).gigaflops == 19500);
}

TEST_CASE("profile: every field tells tasks apart, and the last measurement counts") {
    ts::cost::profile p;
    ts::cost::task_signature s;
    s.attributes.kind = ts::op_kind::conv2d;
    s.extent[0] = 4;
    CHECK(p.find(s) == 0);
    p.set(s, 100);
    p.set(s, 120);
    CHECK(p.find(s) == 120);
    CHECK(p.size() == 1);
    auto other = s;
    other.extent[7] = 1;
    CHECK(p.find(other) == 0);
    other = s;
    other.what = ts::pass::backward;
    CHECK(p.find(other) == 0);
    other = s;
    other.attributes.set(ts::op::batch_norm_attributes{.epsilon = 2e-5});
    CHECK(p.find(other) == 0);
    p.set(other, 5);
    CHECK(p.size() == 2);
    for (bool ts::cost::task_signature::*field :
         {&ts::cost::task_signature::activates, &ts::cost::task_signature::fused}) {
        other = s;
        other.*field = true;
        CHECK(p.find(other) == 0);
    }
    CHECK_THROWS_AS(p.set(s, 0), ts::error);
}
