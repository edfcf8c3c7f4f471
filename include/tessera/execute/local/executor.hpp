// SPDX-License-Identifier: Apache-2.0
// The executor walks a bound plan: every list is run in order and waits only where the plan says so. A device's
// communication stream has a thread of its own, and so has its queue, which may go on when a run has ended.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/clock.hpp"
#include "tessera/execute/backend.hpp"
#include "tessera/execute/local/link_speed.hpp"
#include "tessera/execute/local/transfer_queue.hpp"
#include "tessera/execute/local/workers.hpp"
#include "tessera/execute/loss_guard.hpp"
#include "tessera/execute/ranks/letters_of_plan.hpp"
#include "tessera/execute/ranks/step_identity.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/plan/streams.hpp"
#include "tessera/simulate/timeline.hpp"

#include <climits>
#include <concepts>
#include <span>
#include <utility>

#include <sched.h>

namespace tessera {

/// Runs one bound plan, in arenas of its own or in those that several executors share; parameters lie in a store that
/// they share.
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
    void unload() {
        queue_ = owned<transfer_queue>(); // when its transfers are over
        unload_plan(backend_, addresses_);
        for (auto& list : lists_) {
            list.clear();
        }
        queued_.clear();
        is_ready_ = false;
    }
    /// Prepares everything for arenas that have grown, and lie elsewhere.
    void move_to(const shared_arenas& arenas, const graph_view& g, const parameter_store& store) {
        unload();
        addresses_ = addresses(plan_, store, arenas);
        prepare(g);
    }

    const plan& bound() const { return plan_; }
    const addresses& memory() const { return addresses_; }
    /// Whether something of a run may still be under way when it has ended.
    bool has_queues() const { return !queue_->is_empty(); }
    /// What is run for task number `position` of a list: for those who time tasks without the executor.
    runnable prepared(int list, int position) const {
        if (plan_.is_queue(list)) {
            return queue_->prepared(plan_.order[static_cast<std::size_t>(list)][static_cast<std::size_t>(position)]);
        }
        return lists_[static_cast<std::size_t>(list)][static_cast<std::size_t>(position)].what;
    }

    /// One run of the plan, with the state of each of its steps. Afterwards the results lie in their tiles. Of a
    /// plan with queues pushes to servers, updates and pulls may still be under way: the next run waits for each where
    /// it must, finish() for all. Throws what a task throws, also one of the run before, and tessera::error for another
    /// number of states.
    void run(std::span<const run_state> states) { run_all<false>(states, nullptr); }
    void run(const run_state& state) { run(std::span<const run_state>(&state, 1)); }
    /// The tasks numbered from `first` on and below `last` alone, on top of what the ones before them have left, as
    /// often as wanted. Throws what they throw, and tessera::error for a plan of several steps or with queues, which
    /// runs whole.
    void run_tasks(const run_state& state, int first, int last) {
        if (plan_.period != 1 || plan_.lists() > 2 * plan_.devices || is_over_nodes()) {
            throw error("tessera: a plan of several steps, with queues or over nodes runs whole and not in parts");
        }
        for (std::size_t l = 0; l < lists_.size(); ++l) {
            parts_[l] = {0, 0};
            for (const entry& e : lists_[l]) { // numbered in order
                parts_[l].begin += e.task < first ? 1 : 0;
                parts_[l].end += e.task < last ? 1 : 0;
            }
        }
        const part_of_lists whole_again{*this};
        run_all<false>(std::span<const run_state>(&state, 1), nullptr, first, last);
    }
    /// Waits until nothing is under way, so that parameters may be read and written. Throws what a transfer has thrown.
    void finish() {
        if (queue_.get() != nullptr) {
            queue_->finish();
        }
    }
    /// Before the first run after parameters have been set or another plan has changed them: their shards go to the
    /// nodes that read them. All processes call it.
    void share_parameters() {
        if (is_over_nodes()) {
            letters_.post_before();
            group()->meet(meeting::share_parameters);
        }
    }
    /// The same with the clock read around every task, some 50 ns each. (Of a backend that queues its tasks: when their
    /// calls start and end.) What a queue does after the run is written down until finish(), for which `measured` must
    /// be there.
    void run(std::span<const run_state> states, simulation::timeline& measured) {
        spans_.resize(lists_.size());
        for (std::size_t l = 0; l < lists_.size(); ++l) {
            spans_[l].assign(lists_[l].size(), {});
        }
        measured.tasks.assign(plan_.tasks.size(), {});
        if (group() != nullptr) {
            group()->meet(meeting::agree); // so that all begin at one moment
        }
        const index_t begin = nanoseconds_now();
        measured.begin = begin;
        run_all<true>(states, &measured);
        measured.makespan = nanoseconds_now() - begin;
        measured.device_busy.assign(static_cast<std::size_t>(plan_.devices), 0);
        measured.lane_busy.clear();
        measured.peak_bytes.clear();
        for (std::size_t l = 0; l < lists_.size(); ++l) {
            for (std::size_t i = 0; i < spans_[l].size(); ++i) {
                const simulation::task_span& s = spans_[l][i];
                measured.tasks[static_cast<std::size_t>(plan_.order[l][i])] = {s.start - begin, s.end - begin};
            }
        }
        if (group() != nullptr) {
            agree_on_spans(measured);
        }
        for (std::size_t l = 0; l < lists_.size() && l < measured.device_busy.size(); ++l) {
            for (const int t : plan_.order[l]) {
                const simulation::task_span& s = measured.tasks[static_cast<std::size_t>(t)];
                measured.device_busy[l] += s.end - s.start;
            }
        }
        for (std::size_t d = 0; d < plan_.arena_bytes.size(); ++d) {
            measured.peak_bytes.push_back(plan_.arena_bytes[d] + plan_.persistent_bytes[d]);
        }
    }
    void run(const run_state& state, simulation::timeline& measured) {
        run(std::span<const run_state>(&state, 1), measured);
    }

private:
    static constexpr bool is_guarded = !queues_tasks<B>;

    struct entry {
        runnable what;
        const wait_for* waits = nullptr;
        int wait_count = 0;
        const transfer_queue::wait* queued = nullptr; ///< transfers that it waits for
        int queued_count = 0;
        const letters_of_plan::bundle* letters = nullptr; ///< to other nodes, when it has finished
        int step = 0;
        int task = -1;
        guarded_role role = guarded_role::nothing;
        bool awaited = false; ///< by a task of another list
    };

    /// Which tasks of a list a run takes, by their places in it.
    struct list_part {
        int begin = 0;
        int end = INT_MAX;
    };
    struct part_of_lists {
        executor& of;
        ~part_of_lists() { of.parts_.assign(of.lists_.size(), {}); }
    };

    executor(B& backend, workers& threads, plan p, const link_speed& links)
        : plan_(std::move(p)), backend_(backend), threads_(threads), links_(links),
          lists_(static_cast<std::size_t>(plan_.lists())), parts_(lists_.size()), streams_(threads_of_streams(plan_)),
          spins_(threads.spins(streams_)),
          sleeps_(streams_ > 1 && threads.is_crowded(streams_) && threads.group() == nullptr) {
        if (group() != nullptr) {
            if (lists_.size() > static_cast<std::size_t>(max_group_lists)) {
                throw error("tessera: a plan over ranks has at most " + std::to_string(max_group_lists) +
                            " lists, and this one has " + std::to_string(lists_.size()) + "; use fewer devices");
            }
            done_ = {group()->page().lists, lists_.size()};
            if (is_over_nodes()) { // the plan's waits become others
                traffic_ = traffic_between_nodes(plan_, group()->nodes_of_devices(plan_.devices), group()->nodes());
            }
        } else {
            own_done_ = std::vector<list_counter>(lists_.size());
            done_ = own_done_;
        }
    }

    process_group* group() const { return threads_.group(); }
    /// A backend that queues its tasks orders them across processes by itself.
    bool is_over_nodes() const { return is_guarded && group() != nullptr && group()->nodes() > 1; }
    bool queues_in_group() const { return !is_guarded && group() != nullptr; }

    void prepare(const graph_view& g) {
        for (int op = static_cast<int>(names_.size()); op < g.op_count && group() != nullptr; ++op) {
            names_.push_back(path_of(g, op));
        }
        load_plan(backend_, plan_, g, addresses_);
        if constexpr (is_guarded) {
            guard_ = loss_guard(plan_, g, addresses_);
        }
        if (is_over_nodes()) {
            letters_.write(plan_, addresses_, traffic_, *group());
            for (int step = 0; step < plan_.period && is_guarded; ++step) {
                letters_.tell_all(plan_, guard_.losses(step));
            }
        }
        queue_ = owned<transfer_queue>(new transfer_queue(
            plan_,
            {[](const void* mine, int list) {
                 const auto& of = *static_cast<const executor*>(mine);
                 const int count = of.done_[static_cast<std::size_t>(list)].value.load(std::memory_order_acquire);
                 return of.threads_.failed() ? 0 : count; // what wakes sleepers after a failure is no progress
             },
             this},
            group(), is_over_nodes() ? &letters_ : nullptr));
        const auto prepared = [&](int i) {
            const runnable what = backend_.prepare(plan_, i, g, addresses_);
            const index_t way = links_.is_slow() ? links_.time_of(plan_, plan_.tasks[static_cast<std::size_t>(i)]) : 0;
            return way > 0 ? slowed_.after(way, what) : what;
        };
        auto body = [&](int thread) {
            backend_.start(thread % threads_.devices());
            const int list = list_of_thread(thread);
            if (list < 0) {
                return;
            }
            for (int i : plan_.order[static_cast<std::size_t>(list)]) {
                const task& t = plan_.tasks[static_cast<std::size_t>(i)];
                const std::vector<transfer_queue::wait>& queued = queue_->waits_of(i);
                lists_[static_cast<std::size_t>(list)].push_back(
                    {prepared(i), t.waits.data(), static_cast<int>(t.waits.size()), queued.data(),
                     static_cast<int>(queued.size()), letters_.after(i), t.step, i,
                     is_guarded ? guard_.role(i) : guarded_role::nothing});
            }
        };
        if (queues_in_group()) {
            backend_.start(group()->first_device());
            for (int i = 0; i < static_cast<int>(plan_.tasks.size()); ++i) {
                queued_.push_back(backend_.prepare(plan_, i, g, addresses_));
            }
            is_ready_ = true;
            return;
        }
        threads_.run(body, streams_);
        for (int step = 0; step < plan_.period && is_guarded; ++step) {
            queue_->wait_for_losses(step, guard_.losses(step));
        }
        queue_->start([&](int device) { backend_.start(device); }, prepared);
        for (const task& t : plan_.tasks) {
            set_awaited(t.waits);
        }
        for (int step = 0; step < plan_.period && is_guarded; ++step) {
            set_awaited(guard_.losses(step));
        }
        is_ready_ = true;
    }

    /// -1: the plan has fewer devices than there are threads.
    int list_of_thread(int thread) const {
        const int device = threads_.first_device() + thread % threads_.devices();
        return device < plan_.devices ? device + thread / threads_.devices() * plan_.devices : -1;
    }

    void set_awaited(const std::vector<wait_for>& waits) {
        for (const wait_for& w : waits) {
            std::vector<entry>& all = lists_[static_cast<std::size_t>(w.list)];
            if (!all.empty()) { // else it is another process's
                all[static_cast<std::size_t>(w.count - 1)].awaited = true;
            }
        }
    }

    template <bool Timed>
    void run_all(std::span<const run_state> states, simulation::timeline* measured, int first = 0, int last = INT_MAX) {
        if (!is_ready_) {
            throw error("tessera: a plan has lost its memory and was not prepared again; make the session anew");
        }
        if (static_cast<int>(states.size()) != plan_.period) {
            throw error("tessera: a plan of " + std::to_string(plan_.period) + " steps is run with the states of " +
                        std::to_string(states.size()) + "; give one for each step");
        }
        const run_state& state = states[0];
        const bool guards = is_guarded && state.report != nullptr;
        if (guards) {
            guard_.begin();
        }
        if (group() == nullptr) {
            for (std::size_t l = 0; l < done_.size(); ++l) {
                done_[l].value.store(parts_[l].begin, std::memory_order_relaxed);
            }
        } else {
            begin_together(states[0]);
        }
        const auto tasks = static_cast<int>(plan_.tasks.size());
        if (!queue_->is_empty()) {
            queue_->begin(states.data(), measured);
        }
        auto body = [&](int thread) {
            const int list = list_of_thread(thread);
            if (list < 0) {
                return;
            }
            try {
                run_list<Timed>(list, states);
            } catch (...) {
                threads_.fail();
                wake_all();
                throw;
            }
        };
        try {
            last = last < tasks ? last : tasks;
            run_between(backend_, addresses_, state, first, last, [&] {
                queues_in_group() ? queue_tasks<Timed>(state, measured, first, last) : threads_.run(body, streams_);
            });
            if (group() != nullptr) {
                group()->meet(meeting::end_run);
            }
        } catch (const std::exception& e) {
            if (group() != nullptr) {
                group()->fail(group()->name_of(group()->rank()) + " has failed: " + e.what());
            }
            queue_->abandon();
            throw;
        } catch (...) {
            queue_->abandon();
            throw;
        }
        queue_->lists_are_done();
        if (queue_->failed()) {
            queue_->finish();
        }
        if (guards) {
            guard_.end(*state.report);
        }
    }

    /// In a group, of a backend that queues its tasks: this thread hands it all of them, of which it queues what its
    /// own devices do.
    template <bool Timed>
    void queue_tasks(const run_state& state, simulation::timeline* measured, int first, int last) {
        for (int i = first; i < last; ++i) {
            const runnable& what = queued_[static_cast<std::size_t>(i)];
            const index_t start = Timed ? nanoseconds_now() : 0;
            what.call(what.context, state);
            const task& t = plan_.tasks[static_cast<std::size_t>(i)];
            if (!group()->owns(t.device)) {
                continue;
            }
            done_[static_cast<std::size_t>(plan_.list_of(t))].value.store(t.position + 1, std::memory_order_relaxed);
            if (Timed) {
                measured->tasks[static_cast<std::size_t>(i)] = {start - measured->begin,
                                                                nanoseconds_now() - measured->begin};
            }
        }
    }

    /// Each process has seen when its own tasks ran. Times count from where all began together, as clocks of nodes
    /// differ.
    void agree_on_spans(simulation::timeline& measured) {
        std::vector<double> all;
        for (std::size_t i = 0; i < plan_.tasks.size(); ++i) {
            const simulation::task_span& s = measured.tasks[i];
            const bool mine = s.start >= 0;
            all.push_back(mine ? static_cast<double>(s.start) : 0);
            all.push_back(mine ? static_cast<double>(s.end) : 0);
        }
        all.push_back(static_cast<double>(measured.makespan));
        group()->agree_on_most(all);
        measured.makespan = static_cast<index_t>(all.back());
        for (std::size_t i = 0; i < plan_.tasks.size(); ++i) {
            measured.tasks[i] = {static_cast<index_t>(all[2 * i]), static_cast<index_t>(all[2 * i + 1])};
        }
    }

    /// A run of all processes: each sets its own lists to their start, which nobody reads any more.
    void begin_together(const run_state& first) {
        for (std::size_t l = 0; l < done_.size(); ++l) {
            if (group()->writes_for(plan_.device_of_list(static_cast<int>(l)))) {
                done_[l].value.store(parts_[l].begin, std::memory_order_relaxed);
                done_[l].size.store(static_cast<int>(plan_.order[l].size()), std::memory_order_relaxed);
            }
        }
        group()->begins(first.step);
        if (first.identity != nullptr) {
            group()->compare(meeting::begin_run, first.identity->number, first.identity->lines);
        } else {
            group()->meet(meeting::begin_run, plan_.hash + first.step);
        }
    }

    template <bool Timed>
    void run_list(int list, std::span<const run_state> states) {
        list_counter& mine = done_[static_cast<std::size_t>(list)];
        const std::vector<entry>& all = lists_[static_cast<std::size_t>(list)];
        const list_part part = parts_[static_cast<std::size_t>(list)];
        const int size = static_cast<int>(all.size());
        // A pointer, which no task can change, stays in a register: 4 of an empty task's 40 instructions.
        const entry* const last = all.data() + (part.end < size ? part.end : size);
        int finished = part.begin;
        for (const entry* next = all.data() + part.begin; next < last; ++next) {
            const entry& e = *next;
            for (int k = 0; k < e.wait_count; ++k) {
                await(e.waits[k].list, e.waits[k].count);
            }
            if (e.role == guarded_role::change && states[0].report != nullptr) {
                for (const wait_for& w : guard_.losses(e.step)) {
                    await(w.list, w.count);
                }
            }
            for (int k = 0; k < e.queued_count; ++k) {
                await_transfer(e.queued[k]);
            }
            if (threads_.failed()) {
                return;
            }
            if constexpr (Timed) {
                simulation::task_span& span =
                    spans_[static_cast<std::size_t>(list)][static_cast<std::size_t>(finished)];
                span.start = nanoseconds_now();
                call(e, states[static_cast<std::size_t>(e.step)]);
                span.end = nanoseconds_now();
            } else {
                call(e, states[static_cast<std::size_t>(e.step)]);
            }
            ++finished;
            if (sleeps_) {
                mine.value.store(finished); // in one order with `sleepers`, or a thread might fall asleep unseen
                if (e.awaited && mine.sleepers.load() > 0) { // a wake-up costs a thread more than a small task does
                    mine.value.notify_all();
                }
            } else {
                mine.value.store(finished, std::memory_order_release);
            }
            if (e.letters != nullptr) {
                e.letters->post(static_cast<std::uint64_t>(finished), states[0]);
            }
        }
    }

    void call(const entry& e, const run_state& run) {
        if (e.role == guarded_role::nothing || run.report == nullptr) {
            e.what.call(e.what.context, run);
        } else {
            guard_.call(e.task, run, [&] { e.what.call(e.what.context, run); });
        }
    }

    /// Waits until a list has finished so many tasks, or a device has failed. With two streams on too few cores a
    /// thread that waits lets others have its core and then sleeps, so that it is there at once, before a task that
    /// computes has ended, when it is woken.
    void await(int list, int count) {
        if (group() != nullptr) {
            await_others(list, count);
            return;
        }
        list_counter& other = done_[static_cast<std::size_t>(list)];
        const auto over = [&] { return other.value.load(std::memory_order_acquire) >= count || threads_.failed(); };
        if (!sleeps_) {
            detail::spin_until(over, spins_);
            return;
        }
        const index_t begin = nanoseconds_now();
        detail::spin_until([&] { return over() || nanoseconds_now() - begin > patience; }, spins_);
        if (over()) {
            return;
        }
        other.sleepers.fetch_add(1);
        for (int seen = other.value.load(); seen < count && !threads_.failed(); seen = other.value.load()) {
            other.value.wait(seen);
        }
        other.sleepers.fetch_sub(1);
    }
    /// The same in a group of processes, any of which may have ended.
    void await_others(int list, int count) {
        const std::atomic<int>& other = done_[static_cast<std::size_t>(list)].value;
        const auto over = [&] { return other.load(std::memory_order_acquire) >= count || threads_.failed(); };
        for (int i = 0; i < spins_ && !over(); ++i) {
            detail::relax();
        }
        if (over()) {
            return;
        }
        const int owner = group()->owner(plan_.device_of_list(list));
        const index_t yields_for = group()->is_here(owner) ? long_wait : patience;
        for (const index_t began = nanoseconds_now(); !over(); detail::yield_or_nap(began, yields_for)) {
            group()->look(began, owner, [&] { return standing(list, count); });
            if (group()->failed()) {
                group()->throw_failure();
            }
        }
    }
    /// What a list has still to do before another can go on, and where it stands.
    std::string standing(int list, int count) const {
        const std::vector<int>& all = plan_.order[static_cast<std::size_t>(list)];
        const auto named = [&](int position) {
            const task& t = plan_.tasks[static_cast<std::size_t>(all[static_cast<std::size_t>(position)])];
            return "task " + std::to_string(position + 1) + " of " + std::to_string(all.size()) + " (" +
                   (t.kind() == task_kind::compute ? to_text(t.what) : to_text(t.kind())) +
                   (t.op >= 0                   ? " of " + names_[static_cast<std::size_t>(t.op)]
                    : t.params().parameter >= 0 ? " of parameter " + std::to_string(t.params().parameter)
                                                : "") +
                   ")";
        };
        const int now = done_[static_cast<std::size_t>(list)].value.load();
        return named(count - 1) + " of " + text_of_list(plan_, list) + ", on " +
               group()->name_of(group()->owner(plan_.device_of_list(list))) + ", which stands at " +
               named(now < count ? now : count - 1);
    }
    static constexpr index_t patience = 200'000;    ///< ns; a sleeper takes about 50,000 to wake
    static constexpr index_t long_wait = 2'000'000; ///< ns; for another process of the node: the core may be wanted

    /// Waits until a transfer has ended, or something has failed. A long wait is for a slow link: the core is free
    /// meanwhile.
    void await_transfer(const transfer_queue::wait& w) {
        const index_t began = nanoseconds_now();
        for (int i = 0; !queue_->is_done(w) && !threads_.failed(); ++i) {
            if (queue_->failed()) {
                threads_.fail();
                wake_all();
            } else if (i < spins_) {
                detail::relax();
            } else if (i < spins_ + 200) {
                sched_yield();
            } else {
                detail::nap(began);
                if (group() != nullptr) {
                    group()->look(began, -1, [] { return "a transfer"; });
                }
            }
        }
    }

    /// After a failure: whoever sleeps looks again.
    void wake_all() {
        for (list_counter& c : own_done_) { // processes of a group spin
            c.value.store(INT_MAX);         // to look again it must see another number
            c.value.notify_all();
        }
    }

    plan plan_;
    B& backend_;
    workers& threads_;
    addresses addresses_;
    link_speed links_;
    loss_guard guard_;
    std::vector<std::vector<entry>> lists_;
    std::vector<runnable> queued_;   ///< instead of them, see queues_in_group()
    std::vector<std::string> names_; ///< of the operators, in a group of processes
    std::vector<list_counter> own_done_;
    std::span<list_counter> done_; ///< the own, or in a group of processes those of its page
    std::vector<list_part> parts_;
    node_traffic traffic_; ///< where the processes are on several nodes
    letters_of_plan letters_;
    int streams_; ///< that have threads in a run
    int spins_;
    bool sleeps_;                                           ///< whoever waits
    bool is_ready_ = false;                                 ///< prepared
    std::vector<std::vector<simulation::task_span>> spans_; ///< of a measured run, for every list
    detail::slowed_tasks slowed_;
    owned<transfer_queue> queue_; ///< of what is prepared
};

} // namespace tessera

#include "tessera/base/end_header.inl"
