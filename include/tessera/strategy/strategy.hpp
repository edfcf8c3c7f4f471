// SPDX-License-Identifier: Apache-2.0
// A strategy as a value, and the rules that it has to keep.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/describe.hpp"
#include "tessera/net/paths.hpp"
#include "tessera/strategy/stage_rules.hpp"
#include "tessera/strategy/strategy_view.hpp"
#include "tessera/strategy/synchronization_rules.hpp"

#include <vector>

namespace tessera {

/// A configuration, a stage and a recompute choice for every operator, and what holds for all of them.
struct strategy {
    std::vector<configuration> ops;
    std::vector<index_t> pool;
    int micro_batches = 1;      ///< into which the batch is cut, as evenly as it goes
    int steps_per_plan = 1;     ///< steps that one plan covers
    pipeline_schedule schedule; ///< without stages: micro-batches one after the other through all stages
    statistics_over statistics = statistics_over::micro_batch;
    /// The device that alone stores parameters and optimizer state, and takes the inputs in: in every step parameters
    /// and inputs are copied from it to where shards need them, and gradients are summed on it. -1: they are stored
    /// wherever shards need them.
    int parameters_on = -1;
    /// What moves between devices (copies, sums of gradients, updates that reach other devices) is done by a
    /// communication stream of every device, beside its computation.
    bool overlap = false;
    /// What several readers on one device contribute to the gradient of one region is added up there before it is sent
    /// to other devices: the gradients of queries, keys and values travel as one. false: each by itself.
    bool sums_first = false;
    synchronization sync; ///< of gradients and parameters
    /// The optimizer's state waits in the host's memory, with a copy there of what is trained, and the host's processor
    /// steps (ZeRO-Offload: Ren et al. 2021): a slice's summed gradient goes down over the link of the device that would
    /// step, 4 bytes an element, and the new parameters come up, 4 bytes. Of an optimizer without a state it is refused.
    /// A policy's urgent_first is without effect then.
    bool state_on_host = false;

    strategy_view view() const;

    /// Number by number; is_same() also knows what lies elsewhere in the pool.
    friend bool operator==(const strategy& a, const strategy& b) { return same_fields(a, b); }

    template <class See>
    static constexpr void each_field(See&& see) {
        using s = strategy;
        see("ops", &s::ops, {});
        see("pool", &s::pool, {});
        see("micro_batches", &s::micro_batches, {.words = "micro-batches", .least = 1, .always = true});
        see("period", &s::steps_per_plan, {.words = "steps in a plan", .least = 1, .always = true});
        see("schedule", &s::schedule, {});
        see("statistics", &s::statistics, {.words = "statistics over", .always = true});
        see("parameters_on", &s::parameters_on, {.words = "parameters on one device"});
        see("overlap", &s::overlap, {.words = "communication beside computation"});
        see("sums_first", &s::sums_first, {.words = "gradients summed before they are sent"});
        see("synchronization", &s::sync, {});
        see("state_on_host", &s::state_on_host, {.words = "optimizer's state on the host"});
    }

    strategy() = default;
    /// Every operator whole, on the first device.
    explicit strategy(const graph_view& g) : ops(to_size(g.op_count)) {}
    explicit strategy(const strategy_view& v);
    /// Follows a schedule, with its number of micro-batches.
    void follow(pipeline_schedule order);

    /// Places the shards of an operator on the devices listed.
    void place(int op, const std::vector<int>& devices);
    /// Cuts a loop of an operator at the indices listed.
    void cut(int op, int loop_index, const std::vector<index_t>& at);
};

namespace detail {

constexpr problem check_loop(const configuration& c, const strategy_view& s, const description& d, int op, int l) {
    const int name = l < d.loops.size() ? static_cast<int>(d.loops[l].name) : -1;
    const index_t extent = l < d.loops.size() ? d.loops[l].extent : 1;
    const int degree = c.degree[l];
    if (degree < 1) {
        return broken(rule::degree_is_zero, op, name, degree, 1);
    }
    if (degree == 1) {
        return {};
    }
    if (l >= d.loops.size()) {
        return broken(rule::no_such_loop, op, name, l, d.loops.size());
    }
    if (degree > extent) {
        return broken(rule::degree_exceeds_extent, op, name, degree, extent);
    }
    if (!splittable(d, l)) {
        return broken(rule::loop_not_splittable, op, name, degree, 1);
    }
    const bool apart = s.statistics == statistics_over::replica && l == statistics_loop(d);
    if (role(d, l) == loop_role::coupled && !c.reduces && !apart) {
        return broken(rule::coupled_split_without_reduction, op, name, degree, 1);
    }
    if (c.cuts[l] >= 0) {
        index_t last = 0;
        for (int i = 0; i + 1 < degree; ++i) {
            const index_t where = c.cuts[l] + i < s.pool_size ? s.pool[c.cuts[l] + i] : -1;
            if (where <= last || where >= extent) {
                return broken(rule::cuts_are_wrong, op, name, where, extent);
            }
            last = where;
        }
    } else if (extent % degree != 0 && !c.uneven) {
        return broken(rule::degree_does_not_divide, op, name, degree, extent);
    }
    return {};
}

/// The first rule that the degrees of a configuration break by themselves, whatever the other operators do.
constexpr problem check_degrees(const configuration& c, const strategy_view& s, const description& d, int op) {
    for (int l = 0; l < max_loops; ++l) {
        if (const problem p = check_loop(c, s, d, op, l)) {
            return p;
        }
    }
    if (c.partial < 1 || c.replicate < 1) {
        return broken(rule::degree_is_zero, op, -1, c.partial < 1 ? c.partial : c.replicate, 1);
    }
    return {};
}

/// Keys and values of what goes round a ring are whole but for it, and there are enough of them.
constexpr problem check_ring(const configuration& c, const description& d, int op) {
    if (!c.ring) {
        return {};
    }
    const int queries = d.find_loop(loop_name::position);
    const int keys = d.find_loop(loop_name::key_position);
    if (!d.facts.merges || queries < 0 || keys < 0 || d.find_operand(operand_kind::parameter) >= 0) {
        return broken(rule::ring_without_keys, op, -1, 0, 1);
    }
    if (c.degree[keys] > 1 || c.replicate > 1) {
        return broken(rule::ring_of_divided_keys, op, static_cast<int>(loop_name::key_position),
                      c.degree[keys] > 1 ? c.degree[keys] : c.replicate, 1);
    }
    if (c.degree[queries] > d.loops[keys].extent) {
        return broken(rule::ring_longer_than_keys, op, static_cast<int>(loop_name::key_position), d.loops[keys].extent,
                      c.degree[queries]);
    }
    return {};
}

/// Shards of a configuration of legal degrees: past every machine's devices it stops counting instead of overflowing.
constexpr index_t count_shards(const configuration& c) {
    constexpr index_t enough = index_t{1} << 31;
    index_t n = 1;
    for (int k : c.degree) {
        n = n < enough ? n * k : enough;
    }
    n = n < enough ? n * c.partial : enough;
    return n < enough ? n * c.replicate : enough;
}

/// Parts in which an input of the operator arrives if nothing adds them up.
constexpr int parts_of_tensor(const graph_view& g, const strategy_view& s, int tensor) {
    const int producer = g.tensors[tensor].producer;
    if (producer < 0) {
        return 1;
    }
    const description d = g.describe(producer);
    return parts_of_nest(s.ops[producer], d, d.nests.size() - 1);
}

/// Steps that one plan may cover.
inline constexpr int most_steps = 1024;

/// The first number that counts more than there can be. What it counts is made one by one.
constexpr problem check_counts(const graph_view& g, const strategy_view& s) {
    for (int t = 0; t < g.tensor_count; ++t) {
        if (is_too_large(g.tensors[t].extents)) {
            return too_large(g.tensors[t].extents);
        }
    }
    for (int p = 0; p < g.parameter_count; ++p) {
        if (is_too_large(g.parameters[p].extents)) {
            return too_large(g.parameters[p].extents);
        }
    }
    const index_t samples = g.tensor_count > 0 ? g.tensors[0].extents[0] : 1;
    if (s.micro_batches < 1 || s.micro_batches > samples) {
        return broken(rule::micro_batches_out_of_range, -1, -1, s.micro_batches, samples);
    }
    if (s.steps_per_plan < 1 || s.steps_per_plan > most_steps) {
        return broken(rule::period_out_of_range, -1, -1, s.steps_per_plan, most_steps);
    }
    return {};
}

/// More tasks than a plan may have. The shards are those of legal configurations.
constexpr problem check_task_count(const strategy_view& s) {
    constexpr index_t most_tasks = index_t{1} << 23;
    index_t tasks = 0; // at least: forward and backward of every shard
    for (int op = 0; op < s.count; ++op) {
        tasks += 2 * count_shards(s.ops[op]);
    }
    const index_t times = index_t{s.micro_batches} * s.steps_per_plan;
    if (tasks > most_tasks / times) {
        return broken(rule::plan_is_too_large, -1, -1, tasks * times, most_tasks);
    }
    return {};
}

} // namespace detail

/// The first rule that the configuration of operator `op` breaks on a machine of `devices` devices.
constexpr problem check_configuration(const graph_view& g, const strategy_view& s, int op, int devices) {
    const configuration& c = s.ops[op];
    const description d = g.describe(op);
    if (const problem p = detail::check_degrees(c, s, d, op)) {
        return p;
    }
    if (const problem p = detail::check_ring(c, d, op)) {
        return p;
    }
    if (c.partial > 1) {
        if (!d.linear) {
            return detail::broken(rule::partial_into_nonlinear, op, -1, c.partial, 1);
        }
        for (int t : g.ops[op].inputs) {
            const int parts = detail::parts_of_tensor(g, s, t);
            if (parts == 1) {
                return detail::broken(rule::partial_without_reduction, op, -1, c.partial, parts);
            }
            if (parts != c.partial) {
                return detail::broken(rule::partial_degrees_differ, op, -1, c.partial, parts);
            }
        }
    }
    const index_t shards = detail::count_shards(c);
    if (c.devices >= 0) {
        if (c.devices + shards > s.pool_size) {
            return detail::broken(rule::placement_has_wrong_size, op, -1, s.pool_size - c.devices, shards);
        }
        for (int i = 0; i < shards; ++i) {
            const index_t device = s.pool[c.devices + i];
            if (device < 0 || device >= devices) {
                return detail::broken(rule::device_does_not_exist, op, -1, device, devices);
            }
        }
        return {};
    }
    if (shards > devices) {
        return detail::broken(rule::more_shards_than_devices, op, -1, shards, devices);
    }
    const index_t first = c.start;
    const index_t last = first + c.stride * (shards - 1);
    if (first < 0 || first >= devices || last < 0 || last >= devices) {
        return detail::broken(rule::device_does_not_exist, op, -1, first < 0 || first >= devices ? first : last,
                              devices);
    }
    return {};
}

/// The first rule that a strategy breaks for a network on a machine of `devices` devices, whatever the size of its
/// plan: for searches that never lower it whole. What the schedule and the synchronization amount to is given: a
/// strategy that is a type makes them when it runs.
constexpr problem check_layout(const graph_view& g, const strategy_view& s, int devices, const schedule_facts& schedule,
                               const sync_modes& sync) {
    if (devices < 1) {
        return detail::broken(rule::machine_has_no_devices, -1, -1, devices, 1);
    }
    if (s.count != g.op_count) {
        return detail::broken(rule::strategy_has_wrong_size, -1, -1, s.count, g.op_count);
    }
    if (s.parameters_on >= devices || s.parameters_on < -1) {
        return detail::broken(rule::device_does_not_exist, -1, -1, s.parameters_on, devices);
    }
    if (const problem p = detail::check_counts(g, s)) {
        return p;
    }
    if (const problem p = check_synchronization(g, s, sync)) {
        return p;
    }
    if (const problem p = check_staleness(sync.staleness, sync.staleness == 0 ? 1 : s.steps_per_plan)) {
        return p;
    }
    if (sync.compress.is_on() && devices < 2) {
        return detail::broken(rule::compression_without_copies, -1, -1, devices, 2);
    }
    if (schedule.stages > 0 && schedule.micro_batches != s.micro_batches) {
        return detail::broken(rule::schedule_has_other_micro_batches, -1, -1, s.micro_batches, schedule.micro_batches);
    }
    for (int op = 0; op < g.op_count; ++op) {
        if (const problem p = check_configuration(g, s, op, devices)) {
            return p;
        }
    }
    if (const problem p = check_stages(g, s, schedule)) {
        return p;
    }
    return check_training(g, s, schedule);
}

constexpr problem check_layout(const graph_view& g, const strategy_view& s, int devices) {
    return check_layout(g, s, devices, facts_of(s), modes_of(s));
}

/// The first rule that a strategy breaks for a network on a machine of `devices` devices, those of its schedule's
/// actions and of the number of the plan's tasks among them.
constexpr problem check_strategy(const graph_view& g, const strategy_view& s, int devices) {
    if (const problem p = check_layout(g, s, devices)) {
        return p;
    }
    if (const problem p = s.schedule != nullptr ? check_schedule(g, s, *s.schedule) : problem{}) {
        return p;
    }
    return detail::check_task_count(s);
}

/// Throws tessera::error with the words of a rule that a strategy for the network breaks, if it breaks one.
void require(const graph_view& g, const problem& p);

void require(const graph_view& g, const strategy_view& s, int devices);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/strategy/strategy.inl"
#endif

#include "tessera/base/end_header.inl"
