// SPDX-License-Identifier: Apache-2.0
// Rates by size: what they make of products, attention, memory and collectives; calibration finds the numbers that made
// the times; tables of runs are read strictly.
#include "tessera/simulate/calibrate.hpp"

#include "examples/zoo/measured_runs.hpp"
#include "support/replaced.hpp"
#include "tessera/cost/roofline.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/simulate/simulate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace {

namespace ts = tessera;
namespace sim = tessera::simulation;
using ts::index_t;

constexpr const char* table =
    "model,layers,width,heads,vocab,ffn,seq,gpu,gpus,precision,micro_batch,accumulation,sharding,recompute,"
    "tokens_per_s_gpu\n"
    "small,6,256,2,1000,1024,128,h100,4,bf16,8,3,FULL_SHARD,none,100000\n"
    "small,4,512,4,5000,2048,256,h100,4,bf16,2,1,FULL_SHARD,full,100000\n"
    "small,4,512,4,1000,2048,2048,h100,2,bf16,1,1,SHARD_GRAD_OP,none,100000\n";

std::string refusal(const std::string& text) {
    try {
        (void)networks::runs_from_text(text, "runs.csv");
    } catch (const ts::error& e) {
        return e.what();
    }
    return "";
}

/// By the definition, one loop after the other: how many terms, rows and columns.
ts::product_shape shape_of_linear(index_t rows, index_t in, index_t out, int of) {
    return of < 0    ? ts::product_shape{rows, out, in, 1}
           : of == 0 ? ts::product_shape{rows, in, out, 1}
                     : ts::product_shape{out, in, rows, 1};
}

ts::device_class h100_with(const ts::device_rates& r) {
    ts::device_class c = ts::machines::h100_nodes(1).classes[0];
    c.rates = r;
    return c;
}

} // namespace

TEST_CASE("rates by size: the matrices of products come from descriptions, and flops are theirs") {
    std::mt19937 random(7);
    for (int round = 0; round < 50; ++round) {
        const auto size = [&] { return static_cast<index_t>(1 + random() % 40); };
        const ts::shape x = ts::make_shape(size(), size(), size());
        const index_t out = size();
        const ts::description d = ts::describe(
            ts::attributes_of(ts::op_kind::linear, ts::op::linear_attributes{.out = out, .bias = round % 2 == 0}), &x,
            1);
        const auto ranges = ts::loop_ranges(d);
        for (int o = 0; o < d.operands.size(); ++o) {
            const bool weight = d.operands[o].kind == ts::operand_kind::parameter && !d.operands[o].additive;
            if (d.operands[o].kind == ts::operand_kind::input || weight) {
                const ts::product_shape p = ts::product_of(d, 0, ranges.range, o);
                const ts::product_shape q = shape_of_linear(x[0] * x[1], x[2], out, weight ? 1 : 0);
                CHECK(p.depth == q.depth);
                CHECK(p.rows * p.columns == q.rows * q.columns);
                CHECK(p.batches == 1);
                CHECK(p.flops() == ts::flops_of_nest(d, 0, ranges.range));
            }
        }
        CHECK(ts::product_of(d, 0, ranges.range) == shape_of_linear(x[0] * x[1], x[2], out, -1));
    }
}

TEST_CASE("rates by size: waves of tiles, terms, attention, bytes; classes without rates are what they were") {
    ts::device_rates r = ts::usual_rates(100);
    r.product_share = 1000;
    r.product_depth = 0;
    r.tile_rows = r.tile_columns = 128;
    const ts::device_class c = h100_with(r);
    const index_t rate = c.rate(ts::work_kind::matrix_product, ts::precision::bf16);
    const auto time = [&](const ts::product_shape& p, const ts::device_rates& by) {
        return ts::cost::detail::product_time(p, by, rate);
    };
    // A hundred tiles make one wave; one more makes two, or smaller tiles, which take longer than the hundred.
    const ts::product_shape full{1280, 1280, 8192, 1};
    const ts::product_shape more{1280, 1281, 8192, 1};
    CHECK(static_cast<double>(time(full, r)) ==
          doctest::Approx(static_cast<double>(full.flops()) / static_cast<double>(rate)).epsilon(0.001));
    CHECK(time(more, r) > time(full, r) * 11 / 10);
    ts::device_rates deep = r;
    deep.product_depth = 128;
    const ts::product_shape flat{12800, 12800, 128, 1};
    CHECK(static_cast<double>(time(flat, deep)) ==
          doctest::Approx(2.0 * static_cast<double>(time(flat, r))).epsilon(0.01));
    // Attention has its own rates, and memory its ramp.
    ts::cost::work w{ts::work_kind::matrix_product, 1'000'000'000'000, 8, ts::precision::bf16};
    w.of_pairs = ts::cost::attention_pass::forward;
    const index_t forward = ts::cost::roofline_time(w, c);
    w.of_pairs = ts::cost::attention_pass::backward;
    CHECK(static_cast<double>(ts::cost::roofline_time(w, c) - c.launch) ==
          doctest::Approx(1.5 * static_cast<double>(forward - c.launch)).epsilon(0.001));
    CHECK(ts::cost::memory_time(r.memory_ramp, c) ==
          doctest::Approx(4e9 / static_cast<double>(c.memory_megabytes)).epsilon(0.01));
    static_assert(ts::cost::memory_time(100, ts::device_class{"d", {1, 1, 1}, 1000}) == 133);
    const ts::device_class plain = h100_with({});
    CHECK(ts::cost::roofline_time(w, plain) == plain.launch + w.flops * 100 / (rate * 75));
    CHECK(ts::cost::detail::product_time({1, 1, index_t{1} << 57, 1}, r, 1) == ts::cost::detail::endless / 1000);
}

TEST_CASE("calibration finds the rates that made the times, and says what it did") {
    const std::vector<networks::measured_run> runs = networks::runs_from_text(table, "runs.csv");
    REQUIRE(runs.size() == 3);
    CHECK(runs[0].nanoseconds == doctest::Approx(8 * 3 * 128 / 100000.0 * 1e9));
    ts::device_graph on = ts::machines::h100_nodes(1);
    ts::device_rates truth = ts::usual_rates();
    truth.product_share = 250;
    truth.memory_share = 150;
    truth.attention_backward_share = 20;
    std::vector<sim::measured_step> steps;
    for (const networks::measured_run& r : runs) {
        steps.push_back(step_of(r, on));
        steps.back().nanoseconds = predicted_time(steps.back(), truth);
        CHECK(predicted_time(steps.back(), truth) == // a sum over plans is what the whole plan takes
              doctest::Approx(predicted_time(step_of(r, on, true), truth)).epsilon(0.03));
        CHECK(memory_of(r, on) == doctest::Approx(static_cast<double>(memory_of(r, on, true))).epsilon(0.02));
    }
    const sim::calibration c =
        calibrate(steps, ts::usual_rates(), {"product_share", "memory_share", "attention_backward_share"});
    CHECK(c.error_before > 0.05);
    CHECK(c.error_after < 0.01);
    CHECK(c.rates.attention_forward_share == truth.attention_forward_share);
    CHECK(c.numbers.size() == 3);
    const std::string report = to_text(c);
    CHECK(report.find("memory_share") != std::string::npos);
    CHECK(report.find(to_text(runs[2])) != std::string::npos);
    CHECK_THROWS_WITH_AS(calibrate(steps, truth), doctest::Contains("3 measured steps cannot say 6 numbers"),
                         ts::error);
    CHECK_THROWS_WITH_AS(calibrate(steps, truth, {"product_shares"}), doctest::Contains("did you mean product_share"),
                         ts::error);
}

TEST_CASE("collectives at rates by size last longer and take their share of what is computed meanwhile") {
    const std::vector<networks::measured_run> runs = networks::runs_from_text(table, "runs.csv");
    const sim::measured_step s = step_of(runs[1], ts::machines::h100_nodes(1));
    ts::device_rates r = ts::usual_rates();
    r.collective_engine = 0;
    const double least = predicted_time(s, r);
    r.collective_engine = 300;
    const double shared = predicted_time(s, r);
    CHECK(shared > least);
    r.link_share = 100;
    CHECK(predicted_time(s, r) > shared);
    r.collective_start = 1'000'000;
    CHECK(predicted_time(s, r) > shared + 10e6);
}

TEST_CASE("a table of runs that cannot be read is refused with its run and column") {
    const std::string good = table;
    const auto says = [&](const char* from, const char* to, const char* words) {
        CAPTURE(words);
        return refusal(test_support::replaced(good, from, to)).find(words) != std::string::npos;
    };
    CHECK(refusal(good).empty());
    CHECK(says("sharding", "shards", "runs.csv has no column 'sharding'"));
    CHECK(says("tokens_per_s_gpu", "speed", "says no times; give a column 'step_ms' (milliseconds of a step)"));
    CHECK(says("100000", "100000 tok/s",
               "run 1: column 'tokens_per_s_gpu' is \"100000 tok/s\", but must be a number "
               "of tokens per second and device above 0, without the unit"));
    CHECK(says("FULL_SHARD", "DDP", "column 'sharding' is \"DDP\", but must be one of FULL_SHARD, SHARD_GRAD_OP"));
    CHECK(says("bf16", "int4", "must be one of fp32, tf32, bf16, fp16, fp8"));
    CHECK(says(",6,", ",0,", "column 'layers' is \"0\", but must be a whole number from 1 to 10000"));
    const std::string in_ms = test_support::replaced(good, "tokens_per_s_gpu", "step_ms");
    CHECK(networks::runs_from_text(in_ms, "runs.csv")[0].nanoseconds == doctest::Approx(100000e6));
}
