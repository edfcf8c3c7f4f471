// SPDX-License-Identifier: Apache-2.0
// Micro-benchmarks of operators in shards: how long their forward and backward runs take, and each task, beside what a
// simulation predicts.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/execute/measure/timing.hpp"
#include "tessera/plan/movements.hpp"
#include "tessera/plan/stretch.hpp"
#include "tessera/simulate/simulate.hpp"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

/// When the tasks of sharded<...>::forward() and those of backward() start and end, each from the begin of its own run.
struct operator_prediction {
    simulation::timeline forward;
    simulation::timeline backward;

    double forward_seconds() const { return static_cast<double>(forward.makespan) * 1e-9; }
    double backward_seconds() const { return static_cast<double>(backward.makespan) * 1e-9; }
    /// Nanoseconds that a task of the whole plan takes.
    index_t nanoseconds_of(std::size_t task) const;
};

namespace detail {

/// Both runs of an operator by `simulate`, which is handed a stretch of the plan and the number of its first task.
template <class Sharded, class Simulate>
operator_prediction predict_parts(const Sharded& op, Simulate simulate) {
    const plan& p = op.bound();
    const int boundary = op.first_backward_task();
    const auto tasks = static_cast<int>(p.tasks.size());
    return {simulate(stretch_of(p, 0, boundary), 0), simulate(stretch_of(p, boundary, tasks), boundary)};
}

} // namespace detail

/// What the forward and the backward run of a sharded<...> would take on a machine: the very plan that it runs,
/// simulated. Without measured `times` by the rooflines of the machine's devices. Throws tessera::error for a machine
/// of too few devices.
template <class Sharded>
operator_prediction predict_operator(const Sharded& op, const cluster& on, const simulation::task_times& times = {}) {
    return detail::predict_parts(
        op, [&](const plan& part, int) { return simulation::simulate(op.network(), part, on, times); });
}

/// One row of a table of micro-benchmarks. Times are seconds; rates are floating-point operations of the whole
/// operators in a second, what shards compute twice not counted.
struct operator_timing {
    std::string name;  ///< of the operator, or of all in a chain
    std::string input; ///< extents of what is read
    std::string split; ///< "sample/2 channel/2", or "-"; in a chain one after the other
    int devices = 1;
    int tasks = 0;
    timing forward;
    timing backward;
    index_t forward_flops = 0;
    index_t backward_flops = 0;
    double forward_rate = 0;
    double backward_rate = 0;
    index_t forward_bytes = 0; ///< moved between devices
    index_t backward_bytes = 0;
    double predicted_forward = 0; ///< 0: nobody has asked
    double predicted_backward = 0;

    void add(const operator_prediction& p);

    friend bool operator==(const operator_timing& a, const operator_timing& b) { return same_fields(a, b); }
    template <class See>
    static constexpr void each_field(See&& see) {
        using row = operator_timing;
        see("name", &row::name, field_facts{});
        see("input", &row::input, field_facts{});
        see("split", &row::split, field_facts{});
        see("devices", &row::devices, field_facts{});
        see("tasks", &row::tasks, field_facts{});
        see("forward", &row::forward, field_facts{});
        see("backward", &row::backward, field_facts{});
        see("forward_flops", &row::forward_flops, field_facts{});
        see("backward_flops", &row::backward_flops, field_facts{});
        see("forward_rate", &row::forward_rate, field_facts{});
        see("backward_rate", &row::backward_rate, field_facts{});
        see("forward_bytes", &row::forward_bytes, field_facts{});
        see("backward_bytes", &row::backward_bytes, field_facts{});
        see("predicted_forward", &row::predicted_forward, field_facts{});
        see("predicted_backward", &row::predicted_backward, field_facts{});
    }
};

/// One task of an operator's plan, measured in runs in which the clock is read around every task.
struct task_timing {
    int task = 0; ///< its number in the plan
    std::string what;
    std::string kind;
    int device = 0;
    timing measured;
    double predicted = 0; ///< 0: nobody has asked

    friend bool operator==(const task_timing& a, const task_timing& b) { return same_fields(a, b); }
    template <class See>
    static constexpr void each_field(See&& see) {
        using row = task_timing;
        see("task", &row::task, field_facts{});
        see("what", &row::what, field_facts{});
        see("kind", &row::kind, field_facts{});
        see("device", &row::device, field_facts{});
        see("measured", &row::measured, field_facts{});
        see("predicted", &row::predicted, field_facts{});
    }
};

namespace detail {

/// A row without its times.
template <class Sharded>
operator_timing row_of(const Sharded& op) {
    const graph_view g = op.network();
    operator_timing row;
    for (int i = 0; i < g.op_count; ++i) {
        const configuration& c = op.split().ops[to_size(i)];
        row.name += (i > 0 ? ", " : "") + path_of(g, i);
        row.split += (i > 0 ? ", " : "") + text_of_splits(g.describe(i), c, op.split().pool.data());
    }
    const auto& inputs = g.ops[0].inputs;
    for (int k = 0; k < inputs.size(); ++k) {
        row.input += (k > 0 ? ", " : "") + text_of(g.tensors[inputs[k]].extents);
    }
    row.devices = op.bound().devices;
    row.tasks = static_cast<int>(op.bound().tasks.size());
    row.forward_flops = op.forward_flops();
    row.backward_flops = op.backward_flops();
    for (const movement& m : movements_of(g, op.bound())) {
        (m.when == pass::forward ? row.forward_bytes : row.backward_bytes) += m.bytes;
    }
    return row;
}

std::string text_of_number(double x, int digits);
inline std::string text_of_microseconds(double seconds) { return text_of_number(seconds * 1e6, 2); }
/// Predicted over measured, such as "+12 %".
std::string text_of_error(double predicted, double measured);

} // namespace detail

/// Times the forward and the backward run of a sharded<...>, in turns.
template <class Sharded, class Clock = machine_clock>
operator_timing time_operator(Sharded& op, const timing_options& o = {}, Clock&& clock = {}) {
    operator_timing row = detail::row_of(op);
    const auto forward = [&] { op.forward(); };
    const auto backward = [&] { op.backward(); };
    forward(); // what backward reads is there, whichever is warmed up first
    const auto both = time_interleaved(o, clock, forward, backward);
    row.forward = both[0];
    row.backward = both[1];
    row.forward_rate = row.forward.median > 0 ? static_cast<double>(row.forward_flops) / row.forward.median : 0;
    row.backward_rate = row.backward.median > 0 ? static_cast<double>(row.backward_flops) / row.backward.median : 0;
    return row;
}

/// Times every task of a sharded<...> in runs of forward and backward together: `o.most` of them, unless `o.seconds`
/// are over before; one there is always. Where a backend queues its tasks, of their calls.
template <class Sharded, class Clock = machine_clock>
std::vector<task_timing> time_tasks(Sharded& op, const timing_options& o = {.most = 200},
                                    const operator_prediction* predicted = nullptr, Clock&& clock = {}) {
    const std::vector<task>& tasks = op.bound().tasks;
    std::vector<std::vector<double>> seconds(tasks.size());
    for (std::vector<double>& of_task : seconds) {
        of_task.reserve(to_size(o.most < 1 ? 1 : o.most));
    }
    simulation::timeline t;
    const std::int64_t begin = clock();
    const auto is_over = [&] { return static_cast<double>(clock() - begin) * 1e-9 >= o.seconds; };
    for (int i = 0; i < o.warm_up && !is_over(); ++i) {
        op.run(t);
    }
    for (int run = 0; run == 0 || (run < o.most && !is_over()); ++run) {
        op.run(t);
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            seconds[i].push_back(static_cast<double>(t.tasks[i].end - t.tasks[i].start) * 1e-9);
        }
    }
    std::vector<task_timing> rows;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        task_timing row;
        row.task = static_cast<int>(i);
        row.what = detail::key_of_task(op.network(), tasks[i]);
        row.kind = to_text(tasks[i].kind());
        row.device = tasks[i].device;
        row.measured = timing_of(std::move(seconds[i]));
        row.predicted = predicted != nullptr ? static_cast<double>(predicted->nanoseconds_of(i)) * 1e-9 : 0;
        rows.push_back(std::move(row));
    }
    return rows;
}

/// A table for people: microseconds, medians with their quartiles.
std::string to_text(const std::vector<operator_timing>& rows);

std::string to_text(const std::vector<task_timing>& rows);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/measure/operator_timing.inl"
#endif

#include "tessera/base/end_header.inl"
