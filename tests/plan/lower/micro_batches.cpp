// SPDX-License-Identifier: Apache-2.0
// Micro-batches, stages and recomputation in plans: what they need of memory, what is refused, and which broken sums
// are caught.
#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/search/pipeline.hpp"

#include "support/networks.hpp"
#include "support/random_pipeline.hpp"
#include "support/refusal.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace schedule = tessera::schedule;
using ts::index_t;
using ts::task_kind;

/// Sixteen equal layers whose activations outweigh their parameters; each but the last reads backward what it read
/// forward.
constexpr int layers = 16;
constexpr index_t features = 16;
struct layer : ts::linear<features> {};
struct tower : ts::sequential<ts::features<features>, ts::repeat<layers, layer>, ts::cross_entropy> {};

ts::plan planned(const ts::graph_view& g, const ts::strategy& s, int devices) {
    ts::require(g, s.view(), devices);
    ts::plan p = ts::lower(g, s.view(), devices);
    ts::finish(g, p);
    return p;
}

/// The tower in `stages` stages of as many devices.
ts::strategy tower_strategy(const ts::graph_view& g, const ts::pipeline_schedule& order, bool recomputes) {
    std::vector<int> stage;
    for (int op = 0; op < g.op_count; ++op) {
        stage.push_back(std::min(op, layers - 1) * order.stages / layers);
    }
    ts::strategy s = ts::search::pipeline(g, stage, order);
    for (ts::configuration& c : s.ops) {
        c.recompute = recomputes;
    }
    return s;
}

std::string lowered(const ts::graph_view& g, const ts::strategy& s, const ts::lower_options& o = {}) {
    return test_support::message_of([&] { (void)ts::lower(g, s.view(), 2, o); });
}

} // namespace

TEST_CASE(
    "memory: GPipe keeps every micro-batch, 1F1B as many as stages follow, recomputation a stage's input of each") {
    constexpr int k = 4;
    constexpr index_t each = 64; // samples of a micro-batch
    for (const int m : {4, 8, 16}) {
        CAPTURE(m);
        const ts::graph network = ts::describe<tower>(m * each);
        const ts::graph_view g = network.view();
        const auto arena = [&](const ts::pipeline_schedule& order, bool recomputes) {
            return planned(g, tower_strategy(g, order, recomputes), k).arena_bytes;
        };
        const std::vector<index_t> all = arena(schedule::gpipe(k, m, schedule::rematerialize::all), false);
        const std::vector<index_t> again = arena(schedule::gpipe(k, m, schedule::rematerialize::all), true);
        const std::vector<index_t> turns = arena(schedule::one_forward_one_backward(k, m), false);
        const std::vector<index_t> gems = arena(schedule::gems(k, m), false);
        constexpr index_t tile = each * features * 4;
        const index_t own = layers / k; // tiles of one micro-batch in a stage: what its layers read
        for (int d = 0; d < k; ++d) {
            CAPTURE(d);
            // Besides: gradients on their way, what the next stage fetches, a loss's tiles and the parameters'
            // gradients.
            const index_t more = 5 * tile + 3 * own * (features * features + features) * 4;
            CHECK(all[ts::to_size(d)] >= m * own * tile);
            CHECK(all[ts::to_size(d)] <= m * own * tile + m * tile + more);
            CHECK(turns[ts::to_size(d)] >= std::min(k - d, m) * own * tile);
            CHECK(turns[ts::to_size(d)] <= std::min(k - d, m) * (own + 1) * tile + more);
            // GPipe, section 2.3: O(N + L/K * N/M): the inputs of all, and what one needs within the stage.
            CHECK(again[ts::to_size(d)] <= (m + own) * tile + m * tile + more);
            CHECK(gems[ts::to_size(d)] <= (own + 1) * tile + more + tile * 4);
            CHECK(again[ts::to_size(d)] < all[ts::to_size(d)]);
            CHECK((m == k && d == 0 ? turns[ts::to_size(d)] <= all[ts::to_size(d)]
                                    : turns[ts::to_size(d)] < all[ts::to_size(d)]));
        }
    }
}

TEST_CASE(
    "recomputation repeats what backward reads and nothing else, once for every micro-batch that does not keep it") {
    const ts::graph network = ts::describe<tower>(8);
    const ts::graph_view g = network.view();
    for (const bool keeps_last : {false, true}) {
        const auto which = keeps_last ? schedule::rematerialize::except_last : schedule::rematerialize::all;
        const ts::plan p = planned(g, tower_strategy(g, schedule::gpipe(4, 4, which), true), 4);
        int again = 0;
        for (const ts::task& t : p.tasks) {
            again += t.what == ts::pass::recompute && t.kind() == task_kind::compute ? 1 : 0;
            CHECK((t.what != ts::pass::recompute || !keeps_last || t.micro_batch != 3));
        }
        // Of the four layers of a stage the last one's output is read by the next stage alone, in the last stage by the
        // loss.
        CHECK(again == (keeps_last ? 3 : 4) * (4 * 3 + 1));
    }
}

TEST_CASE("random pipelines are sound; a lost, doubled or misplaced contribution of a micro-batch is not") {
    namespace n = test_networks;
    test_support::coverage seen;
    test_support::random pick{9};
    int caught[4] = {};
    for (int i = 0; i < 60; ++i) {
        const ts::graph network =
            i % 2 == 0 ? ts::describe<n::residual_net::network>(4) : ts::describe<n::mlp::network>(6);
        const ts::graph_view g = network.view();
        const int devices = 1 + i % 4;
        const auto c = test_support::random_pipeline(g, devices, 500 + static_cast<std::uint64_t>(i), seen);
        const ts::plan good = planned(g, c.how, devices);
        std::vector<int> sums;
        for (int t = 0; t < static_cast<int>(good.tasks.size()); ++t) {
            const ts::task& x = good.tasks[ts::to_size(t)];
            const bool local = x.kind() == task_kind::sum && x.reads[0] != x.writes[0] && // what one device contributes
                               good.tiles[ts::to_size(x.writes[0])].kind == ts::tile_kind::parameter_gradient;
            if (x.kind() == task_kind::sum && !local) {
                sums.push_back(t);
            }
        }
        CHECK((c.how.micro_batches > 1 || sums.empty())); // two, mirrored, may have a device each
        if (sums.empty()) {
            continue;
        }
        const int which = sums[ts::to_size(pick(static_cast<int>(sums.size())))];
        for (int kind = 0; kind < 4; ++kind) {
            ts::plan p = good;
            ts::task& t = p.tasks[ts::to_size(which)];
            if (kind == 0) { // what is added is forgotten
                t.reads.pop_back();
            } else if (kind == 1) { // or added twice
                t.reads.push_back(t.reads.back());
            } else if (kind == 2) { // or another's is added
                const ts::task& other = p.tasks[ts::to_size(sums[ts::to_size(pick(static_cast<int>(sums.size())))])];
                if (other.reads.back() == t.reads.back()) {
                    continue;
                }
                t.reads.back() = other.reads.back();
            } else { // or it is added to another sum
                const ts::task& other = p.tasks[ts::to_size(sums[ts::to_size(pick(static_cast<int>(sums.size())))])];
                if (other.writes == t.writes) {
                    continue;
                }
                t.reads[0] = t.reads[0] == t.writes[0] ? other.writes[0] : t.reads[0];
                t.writes = other.writes;
            }
            CAPTURE(i);
            CAPTURE(kind);
            CHECK(ts::verify(g, p));
            ++caught[kind];
        }
    }
    for (int kind = 0; kind < 4; ++kind) {
        CHECK(caught[kind] > 10);
    }
}

TEST_CASE("micro-batches, stages and schedules that do not fit are refused with the numbers") {
    namespace n = test_networks;
    const ts::graph network = ts::describe<n::mlp::network>(8);
    const ts::graph_view g = network.view();
    ts::strategy s(g);
    s.micro_batches = 0;
    using test_support::text_of_rule;
    using ts::rule;
    const std::string network_itself = "(the network itself)";
    CHECK(lowered(g, s) == text_of_rule(rule::micro_batches_out_of_range, network_itself, "", 0, 8));
    s = ts::strategy(g);
    ts::lower_options o;
    o.output_gradient = 99;
    CHECK(test_support::contains(lowered(g, s, o), "tensor 99"));
    o = {};
    o.update.loss_scale = 0;
    CHECK(test_support::contains(lowered(g, s, o), "loss scale of 0"));
    s.ops[1].stage = 1;
    CHECK(lowered(g, s) == text_of_rule(rule::stage_reads_later_stage, "gelu", "", 0, 1));
    for (std::size_t op = 1; op < s.ops.size(); ++op) {
        s.ops[op].stage = 2;
    }
    CHECK(lowered(g, s) == text_of_rule(rule::stage_without_operators, network_itself, "", 1, 3));
    s.ops.back().stage = 1000000000;
    CHECK(lowered(g, s) == text_of_rule(rule::more_stages_than_operators, network_itself, "", 1000000001, 7));
    s.ops[0].stage = -1;
    CHECK(lowered(g, s) == text_of_rule(rule::stage_is_negative, "fc1", "", -1, 0));
    s = ts::strategy(g);
    s.follow(schedule::gpipe(2, 4));
    CHECK(lowered(g, s) == text_of_rule(rule::schedule_has_other_stages, network_itself, "", 1, 2));
    for (std::size_t op = 2; op < s.ops.size(); ++op) {
        s.ops[op].stage = 1;
    }
    CHECK(lowered(g, s) == "accepted");
    s.micro_batches = 2;
    CHECK(lowered(g, s) == text_of_rule(rule::schedule_has_other_micro_batches, network_itself, "", 2, 4));

    const ts::graph normalized = ts::describe<n::residual_net::network>(8);
    ts::strategy b(normalized.view());
    b.micro_batches = 2;
    CHECK(lowered(normalized.view(), b) == "accepted");
    b.statistics = ts::statistics_over::mini_batch;
    const auto refusal = [](rule broken) { return text_of_rule(broken, "norm0", "", 2, 1); };
    CHECK(lowered(normalized.view(), b) == refusal(rule::joint_statistics_one_by_one));
    const auto with = [&](const schedule::schedule_record& which) {
        schedule::settings x;
        x.which = &which;
        x.workers = 2;
        x.micro_batches = 2;
        std::vector<int> stage;
        for (int op = 0; op < normalized.view().op_count; ++op) {
            stage.push_back(op * x.stages() / normalized.view().op_count);
        }
        ts::strategy s2 = ts::search::pipeline(normalized.view(), stage, schedule::make(x));
        s2.statistics = ts::statistics_over::mini_batch;
        return lowered(normalized.view(), s2);
    };
    CHECK(with(schedule::gpipe_record) == "accepted");
    CHECK(with(schedule::fill_drain_record) == refusal(rule::joint_statistics_too_late));
    CHECK(with(schedule::one_forward_one_backward_record) == refusal(rule::joint_statistics_too_late));
    CHECK(with(schedule::zero_bubble_v_record) == refusal(rule::joint_statistics_split_backward));
    CHECK(with(schedule::chimera_record) == refusal(rule::joint_statistics_mirrored));
    b.micro_batches = 1;
    CHECK(lowered(normalized.view(), b) == "accepted");
}
