// SPDX-License-Identifier: Apache-2.0
// The rules of stages: which operators are in which, what the schedule has to do with them, and over which samples
// batch norms may take their statistics.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/graph.hpp"
#include "tessera/strategy/schedule_rules.hpp"
#include "tessera/strategy/strategy_view.hpp"

namespace tessera {

namespace detail {

constexpr problem broken(rule what, int op, int dimension, index_t found_number, index_t needed_number) {
    return {what, op, dimension, found_number, needed_number};
}

/// Calls use(from, to) for every edge between two stages.
template <class Use>
constexpr void for_each_stage_edge(const graph_view& g, const strategy_view& s, Use&& use) {
    for (int op = 0; op < g.op_count; ++op) {
        for (const int t : g.ops[op].inputs) {
            const int producer = g.tensors[t].producer;
            if (producer >= 0 && s.ops[producer].stage != s.ops[op].stage) {
                use(s.ops[producer].stage, s.ops[op].stage);
            }
        }
    }
}

/// The first loss that puts the samples of the whole batch together; -1: there is none.
constexpr int first_joining_loss(const graph_view& g) {
    for (int op = 0; op < g.op_count; ++op) {
        if (g.is_loss(op) && joins_samples(g.describe(op))) {
            return op;
        }
    }
    return -1;
}

/// The first operator with statistics of samples; -1: there is none.
constexpr int first_normalizing(const graph_view& g) {
    for (int op = 0; op < g.op_count; ++op) {
        if (g.describe(op).has_running_state()) {
            return op;
        }
    }
    return -1;
}

} // namespace detail

/// The rule that stages break which do not begin at one operator after the other, given the first one of each.
constexpr problem check_stage_starts(const int* first, int stages) {
    for (int k = 1; k < stages; ++k) {
        if (first[k] <= first[k - 1]) {
            return detail::broken(rule::stages_out_of_order, first[k], -1, first[k], index_t{first[k - 1]} + 1);
        }
    }
    return {};
}

/// How many stages operators are in; they count from 0.
constexpr index_t stages_of(const strategy_view& s) {
    index_t last = 0;
    for (int op = 0; op < s.count; ++op) {
        last = s.ops[op].stage > last ? s.ops[op].stage : last;
    }
    return last + 1;
}

/// The first rule that the stages of a strategy break: they are numbered from 0 without gaps, none reads what a later
/// one makes, and there are as many as the schedule has.
constexpr problem check_stages(const graph_view& g, const strategy_view& s, const schedule_facts& schedule) {
    for (int op = 0; op < g.op_count; ++op) {
        const int own = s.ops[op].stage;
        if (own < 0) {
            return detail::broken(rule::stage_is_negative, op, -1, own, 0);
        }
        for (const int t : g.ops[op].inputs) {
            const int producer = g.tensors[t].producer;
            if (producer >= 0 && s.ops[producer].stage > own) {
                return detail::broken(rule::stage_reads_later_stage, op, -1, own, s.ops[producer].stage);
            }
        }
    }
    const index_t stages = stages_of(s);
    if (stages > g.op_count) {
        return detail::broken(rule::more_stages_than_operators, -1, -1, stages, g.op_count);
    }
    detail::int_array operators(static_cast<std::size_t>(stages), 0);
    for (int op = 0; op < g.op_count; ++op) {
        ++operators[static_cast<std::size_t>(s.ops[op].stage)];
    }
    for (int i = 0; i < stages; ++i) {
        if (operators[static_cast<std::size_t>(i)] == 0) {
            return detail::broken(rule::stage_without_operators, -1, -1, i, stages);
        }
    }
    if (schedule.stages > 0 && schedule.stages != stages) {
        return detail::broken(rule::schedule_has_other_stages, -1, -1, stages, schedule.stages);
    }
    if (schedule.stages > 0 && schedule.micro_batches != s.micro_batches) {
        return detail::broken(rule::schedule_has_other_micro_batches, -1, -1, s.micro_batches, schedule.micro_batches);
    }
    return {};
}

/// The first rule that training breaks: batch norms that meet in all micro-batches need a schedule that lets them, a
/// loss of the whole batch one micro-batch, and a plan of several steps parameters that are stored where they are
/// needed.
constexpr problem check_training(const graph_view& g, const strategy_view& s, const schedule_facts& schedule) {
    if (s.steps_per_plan > 1 && s.parameters_on >= 0) {
        return detail::broken(rule::period_on_one_device, -1, -1, s.steps_per_plan, 1);
    }
    if (const int op = s.micro_batches > 1 ? detail::first_joining_loss(g) : -1; op >= 0) {
        return detail::broken(rule::loss_joins_micro_batches, op, -1, s.micro_batches, 1);
    }
    if (s.micro_batches > 1 && s.statistics == statistics_over::mini_batch && schedule.joint != rule::none) {
        const int op = detail::first_normalizing(g);
        return op < 0 ? problem{} : detail::broken(schedule.joint, op, -1, s.micro_batches, 1);
    }
    return {};
}

/// The first rule that a schedule breaks by itself, or for the edges between the stages of a strategy that keeps their
/// rules: an action would wait for itself.
TESSERA_VECTOR_CONSTEXPR problem check_schedule(const graph_view& g, const strategy_view& s,
                                                const pipeline_schedule& schedule) {
    detail::action_table given(schedule);
    if (const problem p = given.fill()) {
        return p;
    }
    int edges = 0;
    detail::for_each_stage_edge(g, s, [&](int, int) { ++edges; });
    detail::stage_edges after(schedule.stages, edges);
    detail::stage_edges before(schedule.stages, edges);
    detail::for_each_stage_edge(g, s, [&](int from, int to) {
        after.count(from);
        before.count(to);
    });
    after.counted();
    before.counted();
    detail::for_each_stage_edge(g, s, [&](int from, int to) {
        after.add(from, to);
        before.add(to, from);
    });
    return detail::walk(schedule, given, after, before, [](int, const action&) {});
}

/// What the rules ask of the schedule that a strategy follows.
constexpr schedule_facts facts_of(const strategy_view& s) {
    return s.schedule != nullptr ? facts_of(*s.schedule) : schedule_facts{};
}

} // namespace tessera

#include "tessera/base/end_header.inl"
