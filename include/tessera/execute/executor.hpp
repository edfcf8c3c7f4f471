// SPDX-License-Identifier: Apache-2.0
// The executor walks a bound plan: every device runs its list in order and waits only where the plan says so.
#pragma once

#include "tessera/base/clock.hpp"
#include "tessera/execute/run_hooks.hpp"
#include "tessera/execute/workers.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/simulate/timeline.hpp"

#include <concepts>

namespace tessera {

/// What an executor needs of a backend: `bind(plan, graph, store)` chooses formats and inserts reorders; `prepare(plan, task, graph,
/// addresses)`, called on the task's own device, makes what runs it; `start(device)` readies a device's thread. It may have more: see
/// run_hooks.hpp.
template <class B>
concept Backend = requires(B& b, plan& p, const graph_view& g, const addresses& a) {
    b.bind(p, g, static_cast<const parameter_store*>(nullptr));
    { b.prepare(p, 0, g, a) } -> std::same_as<runnable>;
    b.start(0);
};

/// Runs one bound plan. Holds its arenas; parameters lie in a store that several executors may share.
template <Backend B>
class executor {
public:
    /// `p` must be finished (bound, with waits and memory). Throws what the backend throws while it prepares tasks.
    executor(B& backend, workers& threads, const graph_view& g, plan p, const parameter_store& store)
        : plan_(static_cast<plan&&>(p)), backend_(backend), threads_(threads),
          addresses_(plan_, store, memory_of(backend)), lists_(static_cast<std::size_t>(plan_.devices)),
          done_(static_cast<std::size_t>(plan_.devices)) {
        load_plan(backend, plan_, g, addresses_);
        auto prepare = [&](int device) {
            backend.start(device);
            if (device >= plan_.devices) {
                return;
            }
            for (int i : plan_.order[static_cast<std::size_t>(device)]) {
                const task& t = plan_.tasks[static_cast<std::size_t>(i)];
                lists_[static_cast<std::size_t>(device)].push_back(
                    {backend.prepare(plan_, i, g, addresses_), t.waits.data(), static_cast<int>(t.waits.size())});
            }
        };
        threads_.run(prepare);
    }

    const plan& bound() const { return plan_; }
    const addresses& memory() const { return addresses_; }
    /// What a device runs for task number `position` of its list: for those who time tasks without the executor.
    runnable prepared(int device, int position) const {
        return lists_[static_cast<std::size_t>(device)][static_cast<std::size_t>(position)].what;
    }

    /// One run of the plan. Afterwards the results lie in their tiles.
    void run(const run_state& state) { run_all<false>(state); }
    /// The same with the clock read around every task, some 50 ns each. (Of a backend that queues its tasks: when their calls start and
    /// end.)
    void run(const run_state& state, simulation::timeline& measured) {
        spans_.resize(lists_.size());
        for (std::size_t d = 0; d < lists_.size(); ++d) {
            spans_[d].assign(lists_[d].size(), {});
        }
        const index_t begin = nanoseconds_now();
        run_all<true>(state);
        measured.makespan = nanoseconds_now() - begin;
        measured.tasks.resize(plan_.tasks.size());
        measured.device_busy.assign(lists_.size(), 0);
        measured.lane_busy.clear();
        measured.peak_bytes.clear();
        for (std::size_t d = 0; d < lists_.size(); ++d) {
            for (std::size_t i = 0; i < spans_[d].size(); ++i) {
                const simulation::task_span& s = spans_[d][i];
                measured.tasks[static_cast<std::size_t>(plan_.order[d][i])] = {s.start - begin, s.end - begin};
                measured.device_busy[d] += s.end - s.start;
            }
            measured.peak_bytes.push_back(plan_.arena_bytes[d] + plan_.persistent_bytes[d]);
        }
    }

private:
    struct entry {
        runnable what;
        const wait_for* waits = nullptr;
        int wait_count = 0;
    };
    struct alignas(64) counter {
        std::atomic<int> value{0};
    };

    template <bool Timed>
    void run_all(const run_state& state) {
        for (counter& c : done_) {
            c.value.store(0, std::memory_order_relaxed);
        }
        auto body = [&](int device) {
            if (device < plan_.devices) {
                run_device<Timed>(device, state);
            }
        };
        run_between(backend_, addresses_, state, 0, static_cast<int>(plan_.tasks.size()), [&] { threads_.run(body); });
    }

    template <bool Timed>
    void run_device(int device, const run_state& state) {
        std::atomic<int>& mine = done_[static_cast<std::size_t>(device)].value;
        int finished = 0;
        for (const entry& e : lists_[static_cast<std::size_t>(device)]) {
            for (int k = 0; k < e.wait_count; ++k) {
                const std::atomic<int>& other = done_[static_cast<std::size_t>(e.waits[k].device)].value;
                const int count = e.waits[k].count;
                detail::spin_until([&] { return other.load(std::memory_order_acquire) >= count || threads_.failed(); },
                                   threads_.spins());
            }
            if (threads_.failed()) {
                return;
            }
            if constexpr (Timed) {
                simulation::task_span& span =
                    spans_[static_cast<std::size_t>(device)][static_cast<std::size_t>(finished)];
                span.start = nanoseconds_now();
                e.what.call(e.what.context, state);
                span.end = nanoseconds_now();
            } else {
                e.what.call(e.what.context, state);
            }
            mine.store(++finished, std::memory_order_release);
        }
    }

    plan plan_;
    B& backend_;
    workers& threads_;
    addresses addresses_;
    std::vector<std::vector<entry>> lists_;
    std::vector<counter> done_;
    std::vector<std::vector<simulation::task_span>> spans_; ///< of a measured run, for every device
};

} // namespace tessera
