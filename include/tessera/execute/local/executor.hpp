// SPDX-License-Identifier: Apache-2.0
// The executor walks a bound plan: every list is run in order and waits only where the plan says so. A device's
// communication stream has a thread of its own, and so has its queue, which may go on when a run has ended.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/clock.hpp"
#include "tessera/execute/backend.hpp"
#include "tessera/execute/local/list_progress.hpp"
#include "tessera/execute/local/measured_spans.hpp"
#include "tessera/execute/local/task_lists.hpp"
#include "tessera/execute/local/workers.hpp"
#include "tessera/execute/ranks/step_identity.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/plan/streams.hpp"
#include "tessera/simulate/timeline.hpp"

#include <climits>
#include <concepts>
#include <span>
#include <utility>

namespace tessera {

/// Runs one bound plan, in arenas of its own or in those that several executors share; parameters lie in a store that
/// they share. It owns the plan, what is prepared for it (task_lists) and where its lists stand (list_progress).
template <RunsTasks B>
class executor {
public:
    /// `p` must be finished (bound, with waits and memory). Throws what the backend throws while it prepares tasks.
    executor(B& backend, workers& threads, const graph_view& g, plan p, const parameter_store& store,
             const link_speed& links = {})
        : executor(backend, threads, std::move(p), links) {
        require_room(backend_, plan_.arena_bytes);
        addresses_ = addresses(plan_, store, memory_of(backend_));
        prepare(g);
    }
    /// The same in arenas that have room for the plan; executors that share them run one at a time, when finish() of
    /// the one before has returned, and what one leaves there the next overwrites.
    executor(B& backend, workers& threads, const graph_view& g, plan p, const parameter_store& store,
             const shared_arenas& arenas, const link_speed& links = {})
        : executor(backend, threads, std::move(p), links) {
        move_to(arenas, g, store);
    }
    executor(const executor&) = delete;
    executor& operator=(const executor&) = delete;
    ~executor() { unload(); }

    /// Lets go of what was prepared: until move_to() it does not run.
    void unload() { tasks_.unload(addresses_); }
    /// Prepares everything for arenas that have grown, and lie elsewhere.
    void move_to(const shared_arenas& arenas, const graph_view& g, const parameter_store& store) {
        unload();
        addresses_ = addresses(plan_, store, arenas);
        prepare(g);
    }

    const plan& bound() const { return plan_; }
    const addresses& memory() const { return addresses_; }
    /// Whether something of a run may still be under way when it has ended.
    bool has_queues() const { return !tasks_.queue()->is_empty(); }
    /// What is run for task number `position` of a list: for those who time tasks without the executor.
    runnable prepared(int list, int position) const { return tasks_.prepared(list, position); }

    /// One run of the plan, with the state of each of its steps. Afterwards the results lie in their tiles. Of a
    /// plan with queues pushes to servers, updates and pulls may still be under way: the next run waits for each where
    /// it must, finish() for all. Throws what a task throws, also one of the run before, and tessera::error for another
    /// number of states.
    void run(std::span<const run_state> states) { run_all<false>(states, nullptr); }
    void run(const run_state& state) { run(std::span<const run_state>(&state, 1)); }
    /// One run that nothing follows, such as a prediction's: inputs by tensor, or null.
    void run_alone(const void* const* inputs, std::uint64_t seed) {
        run_report report;
        report.begin();
        run_state state;
        state.inputs = inputs;
        state.seed = seed;
        state.report = &report;
        run(state);
    }
    /// The tasks numbered from `first` on and below `last` alone, on top of what the ones before them have left, as
    /// often as wanted. Throws what they throw, and tessera::error for a plan of several steps or with queues, which
    /// runs whole.
    void run_tasks(const run_state& state, int first, int last) {
        if (plan_.steps_per_plan != 1 || plan_.lists() > 2 * plan_.devices || tasks_.is_over_nodes()) {
            throw error("tessera: a plan of several steps, with queues or over nodes runs whole and not in parts");
        }
        for (std::size_t l = 0; l < tasks_.size(); ++l) {
            parts_[l] = {0, 0};
            for (const entry& e : tasks_[static_cast<int>(l)]) { // numbered in order
                parts_[l].begin += e.task < first ? 1 : 0;
                parts_[l].end += e.task < last ? 1 : 0;
            }
        }
        const part_of_lists whole_again{*this};
        run_all<false>(std::span<const run_state>(&state, 1), nullptr, first, last);
    }
    /// Waits until nothing is under way, so that parameters may be read and written. Throws what a transfer has thrown.
    void finish() {
        if (tasks_.queue() != nullptr) {
            tasks_.queue()->finish();
        }
    }
    /// Before the first run after parameters have been set or another plan has changed them: their shards go to the
    /// nodes that read them. All processes call it.
    void share_parameters() {
        if (tasks_.is_over_nodes()) {
            tasks_.writes().post_before();
            group()->barrier(barrier_point::share_parameters);
        }
    }
    /// The same as run(states) with the clock read around every task, some 50 ns each. (Of a backend that queues its
    /// tasks: when their calls start and end.) What a queue does after the run is written down until finish(), for
    /// which `measured` must be there.
    void run(std::span<const run_state> states, simulation::timeline& measured) {
        spans_.begin(plan_, tasks_.sizes(), group(), measured);
        run_all<true>(states, &measured);
        spans_.finish(plan_, group(), measured);
    }
    void run(const run_state& state, simulation::timeline& measured) {
        run(std::span<const run_state>(&state, 1), measured);
    }

private:
    using entry = typename task_lists<B>::entry;

    /// Which tasks of a list a run takes, by their places in it.
    struct list_part {
        int begin = 0;
        int end = INT_MAX;
    };
    struct part_of_lists {
        executor& of;
        ~part_of_lists() { of.parts_.assign(of.tasks_.size(), {}); }
    };

    executor(B& backend, workers& threads, plan p, const link_speed& links)
        : plan_(std::move(p)), backend_(backend), threads_(threads), streams_(threads_of_streams(plan_)),
          parts_(to_size(plan_.lists())), progress_(plan_, threads, streams_),
          tasks_(backend, threads, plan_, links, streams_) {}

    process_group* group() const { return threads_.group(); }

    void prepare(const graph_view& g) {
        progress_.name_operators(g);
        tasks_.prepare(g, addresses_, progress_);
    }

    template <bool Timed>
    void run_all(std::span<const run_state> states, simulation::timeline* measured, int first = 0, int last = INT_MAX) {
        if (!tasks_.is_ready()) {
            throw error("tessera: a plan has lost its memory and was not prepared again; make the session anew");
        }
        if (static_cast<int>(states.size()) != plan_.steps_per_plan) {
            throw error("tessera: a plan of " + std::to_string(plan_.steps_per_plan) +
                        " steps is run with the states of " + std::to_string(states.size()) +
                        "; give one for each step");
        }
        const run_state& state = states[0];
        transfer_queue& queue = *tasks_.queue();
        const bool guards = task_lists<B>::is_guarded && state.report != nullptr;
        if (guards) {
            tasks_.guard().begin();
        }
        progress_.begin(state, [this](std::size_t l) { return parts_[l].begin; });
        const auto tasks = static_cast<int>(plan_.tasks.size());
        if (!queue.is_empty()) {
            queue.begin(states.data(), measured);
        }
        auto body = [&](int thread) {
            const int list = tasks_.list_of_thread(thread);
            if (list < 0) {
                return;
            }
            try {
                run_list<Timed>(list, states);
            } catch (...) {
                threads_.fail();
                progress_.wake_all();
                throw;
            }
        };
        try {
            last = last < tasks ? last : tasks;
            run_between(backend_, addresses_, state, first, last, [&] {
                tasks_.queues_in_group() ? queue_tasks<Timed>(state, measured, first, last)
                                         : threads_.run(body, streams_);
            });
            if (group() != nullptr) {
                group()->barrier(barrier_point::end_run);
            }
        } catch (const std::exception& e) {
            if (group() != nullptr) {
                group()->fail(group()->name_of(group()->rank()) + " has failed: " + e.what());
            }
            queue.abandon();
            throw;
        } catch (...) {
            queue.abandon();
            throw;
        }
        queue.lists_are_done();
        if (queue.failed()) {
            queue.finish();
        }
        if (guards) {
            tasks_.guard().end(*state.report);
        }
    }

    /// In a group, of a backend that queues its tasks: this thread hands it all of them, of which it queues what its
    /// own devices do.
    template <bool Timed>
    void queue_tasks(const run_state& state, simulation::timeline* measured, int first, int last) {
        for (int i = first; i < last; ++i) {
            const runnable& what = tasks_.queued()[to_size(i)];
            const index_t start = Timed ? nanoseconds_now() : 0;
            what.call(what.context, state);
            const task& t = plan_.tasks[to_size(i)];
            if (!group()->owns(t.device)) {
                continue;
            }
            progress_.counter(plan_.list_of(t)).value.store(t.position + 1, std::memory_order_relaxed);
            if (Timed) {
                measured->tasks[to_size(i)] = {start - measured->begin, nanoseconds_now() - measured->begin};
            }
        }
    }

    template <bool Timed>
    void run_list(int list, std::span<const run_state> states) {
        list_counter& mine = progress_.counter(list);
        const std::vector<entry>& all = tasks_[list];
        const list_part part = parts_[to_size(list)];
        const int size = static_cast<int>(all.size());
        // A pointer, which no task can change, stays in a register: 4 of an empty task's 40 instructions.
        const entry* const last = all.data() + (part.end < size ? part.end : size);
        int finished = part.begin;
        for (const entry* next = all.data() + part.begin; next < last; ++next) {
            const entry& e = *next;
            for (int k = 0; k < e.wait_count; ++k) {
                progress_.await(e.waits[k].list, e.waits[k].count);
            }
            if (e.role == guarded_role::change && states[0].report != nullptr) {
                for (const wait_for& w : tasks_.guard().losses(e.step)) {
                    progress_.await(w.list, w.count);
                }
            }
            for (int k = 0; k < e.queued_count; ++k) {
                progress_.await_transfer(*tasks_.queue(), e.queued[k]);
            }
            if (threads_.failed()) {
                return;
            }
            if constexpr (Timed) {
                simulation::task_span& span = spans_.at(list, finished);
                span.start = nanoseconds_now();
                call(e, states[to_size(e.step)]);
                span.end = nanoseconds_now();
            } else {
                call(e, states[to_size(e.step)]);
            }
            ++finished;
            progress_.set_finished(mine, finished, e.awaited);
            if (e.writes != nullptr) {
                e.writes->post(static_cast<std::uint64_t>(finished), states[0]);
            }
        }
    }

    void call(const entry& e, const run_state& run) {
        if (e.role == guarded_role::nothing || run.report == nullptr) {
            e.what.call(e.what.context, run);
        } else {
            tasks_.guard().call(e.task, run, [&] { e.what.call(e.what.context, run); });
        }
    }

    plan plan_;
    B& backend_;
    workers& threads_;
    addresses addresses_;
    int streams_; ///< that have threads in a run
    std::vector<list_part> parts_;
    list_progress progress_;
    measured_spans spans_; ///< of a measured run
    task_lists<B> tasks_;  ///< last: transfers that are under way use the others
};

} // namespace tessera

#include "tessera/base/end_header.inl"
