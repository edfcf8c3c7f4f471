// SPDX-License-Identifier: Apache-2.0
// The plans of a session: one for each size of batch and kind of run, made when it is first wanted.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/owned.hpp"
#include "tessera/execute/session/networks.hpp"
#include "tessera/execute/session/parameter_state.hpp"
#include "tessera/execute/session/progress.hpp"
#include "tessera/execute/session/ready_run.hpp"
#include "tessera/execute/session/run_results.hpp"
#include "tessera/plan/finish.hpp"

#include <utility>

namespace tessera::detail {

/// Makes plans, from lowering to executors that are prepared, and keeps the latest (most_ready_plans). It owns them and
/// the arenas that they share, in which one runs at a time; not the parameters that they read, nor what they compute.
template <class B>
class plan_cache {
public:
    using ready = ready_run<B>;

    plan_cache(const session_setting& of, B& backend, session_networks& networks, parameter_state<B>& values,
               run_results<B>& results, const training_progress& progress)
        : of_(of), backend_(backend), networks_(networks), values_(values), results_(results), progress_(progress),
          arenas_(values.memory().source()) {}
    plan_cache(const plan_cache&) = delete;
    plan_cache& operator=(const plan_cache&) = delete;

    /// Makes the plan that stays, of key `first`, and the store, of a plan of all parameters, which `compare(plan)`
    /// sees before.
    template <class Compare>
    void begin(const run_key& first, Compare&& compare) {
        const run_key all = networks_.key_of_all(first);
        fused_network network = networks_.network_for(all);
        plan p = make_plan(network, all, all == first ? of_.options.device_memory : 0);
        compare(p);
        values_.take_tiles_of(p);
        if (!(all == first)) {
            network = networks_.network_for(first);
            p = make_plan(network, first, of_.options.device_memory);
        }
        runs_.push_back(make_run(first, std::move(network), std::move(p)));
    }
    void clear() { runs_.clear(); }

    /// The plan that stays.
    const ready& first() const { return *runs_.front(); }
    /// The plan of a key; the address is good until the next call.
    ready& find(const run_key& key) {
        for (std::size_t i = 0; i < runs_.size(); ++i) {
            if (runs_[i]->key == key) {
                const std::size_t newest = i == 0 ? 0 : runs_.size() - 1; // the first stays where it is
                for (; i < newest; ++i) {
                    owned<ready> mine = std::move(runs_[i]);
                    runs_[i] = std::move(runs_[i + 1]);
                    runs_[i + 1] = std::move(mine);
                }
                return *runs_[newest];
            }
        }
        progress_.compare_keys(key);
        fused_network network = networks_.network_for(key);
        plan p = make_plan(network, key, of_.options.device_memory);
        if (runs_.size() > most_ready_plans) {
            runs_[1]->runner.finish();
            running_ = runs_[1].get() == running_ ? nullptr : running_;
            runs_.erase(runs_.begin() + 1);
        }
        runs_.push_back(make_run(key, std::move(network), std::move(p)));
        return *runs_.back();
    }

    /// Before a run: what it will overwrite is kept, if somebody may ask for it.
    void leave_room_for(const ready& r) {
        if (&r != runs_.front().get()) {
            save_gradients();
        }
        results_.run_begins(of_.options.keep_gradients && &r == runs_.front().get());
    }
    /// Before a run: of the plans, which share the parameters, this one has them.
    void hand_parameters_to(ready& r) {
        if (running_ != &r) {
            wait_for_transfers();
            r.runner.share_parameters();
            running_ = &r;
        }
    }
    /// After a step that was not taken: other nodes have what has been put back here.
    void take_parameters_back() {
        wait_for_transfers(); // of the step that is not taken there are none
        running_ = nullptr;
    }

    /// Waits until no transfer of a step is under way; throws what one has thrown.
    void wait_for_transfers() const {
        for (const auto& r : runs_) {
            r->runner.finish();
        }
    }
    /// The parameters, when none is.
    parameter_state<B>& settled() const {
        wait_for_transfers();
        return values_;
    }

private:
    plan make_plan(const fused_network& network, const run_key& key, index_t device_memory) {
        const graph_view g = network.network.view();
        plan p = networks_.lowered(network, key, values_.tiles());
        agree_over(backend_, of_.group());
        backend_.bind(p, g, values_.store_if_there());
        tessera::finish(g, p, device_memory, &of_.update);
        return p;
    }

    owned<ready> make_run(const run_key& key, fused_network network, plan p) {
        make_room(p);
        const graph_view view = network.network.view();
        std::vector<int> late = p.staleness > 0 ? staleness_of(p) : std::vector<int>(to_size(p.steps_per_plan), 0);
        return owned<ready>(new ready{
            key, std::move(network),
            executor<B>(backend_, of_.threads, view, std::move(p), values_.store(), arenas_, of_.options.links),
            std::move(late)});
    }

    /// All plans run in the same arenas, one at a time. Where a plan wants larger ones, the others move.
    void make_room(const plan& p) {
        require_memory(p);
        if (arenas_.has_room(working_arenas(p))) {
            return;
        }
        require_room(backend_, arenas_.missing(p.arena_bytes));
        wait_for_transfers();
        save_gradients();
        for (const auto& r : runs_) {
            r->runner.unload();
        }
        const auto move = [&] {
            for (const auto& r : runs_) {
                if (arenas_.has_room(working_arenas(r->runner.bound()))) { // else it says so when it is to run
                    r->runner.move_to(arenas_, r->planned.network.view(), values_.store());
                }
            }
        };
        try {
            arenas_.grow(working_arenas(p));
        } catch (...) {
            move();
            throw;
        }
        move();
    }
    void require_memory(const plan& p) const {
        for (std::size_t d = 0; d < p.arena_bytes.size() && of_.options.device_memory > 0; ++d) {
            const index_t kept = values_.bytes(d);
            const index_t bytes = kept + p.arena_bytes[d];
            if (bytes > of_.options.device_memory) {
                throw error("tessera: device " + std::to_string(d) + " needs " + std::to_string(bytes) + " bytes (" +
                            std::to_string(kept) + " of them for parameters and optimizer state) and has " +
                            std::to_string(of_.options.device_memory) + "; split more, or use smaller batches");
            }
        }
    }

    /// Before another plan, or other memory, takes the place of the training plan's results.
    void save_gradients() {
        if (results_.has_gradients_in_arenas()) {
            wait_for_transfers();
            results_.save_gradients(first());
        }
    }

    const session_setting& of_;
    B& backend_;
    session_networks& networks_;
    parameter_state<B>& values_;
    run_results<B>& results_;
    const training_progress& progress_;
    shared_arenas arenas_;
    std::vector<owned<ready>> runs_; ///< the first is that which stays; the others by when they ran last
    const ready* running_ = nullptr; ///< the last that has run
};

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
