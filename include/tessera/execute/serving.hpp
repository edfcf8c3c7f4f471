// SPDX-License-Identifier: Apache-2.0
// Predictions by many threads at the same time, of a network as a value: parameters once, arenas for each thread that
// is in a call.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/mutex.hpp"
#include "tessera/execute/planned_prediction.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/execute/waiting_room.hpp"

#include <utility>

#include <unistd.h>

namespace tessera {

/// A network that any number of threads predict with at the same time, each on its own core, by the whole network: one
/// device, no split. Parameters are there once. A thread that calls takes a lane, which has arenas of its own; there
/// are as many lanes as threads have been in calls at one time, at most `most_lanes`, beyond which calls wait. Plans
/// are made once for each size of batch and each length, and are the same in all lanes: an answer does not depend on
/// the lane, nor on what other threads ask for.
///
/// B: a backend whose tasks are finished when their calls return, in memory of the processor.
template <Backend B>
class serving_session {
public:
    static_assert(!queues_tasks<B> && !has_memory<B>, "tessera: a predictor for many threads wants a backend in the "
                                                      "processor's memory whose tasks end when their calls "
                                                      "return: host::backend or reference::backend");

    /// For batches of at most g's samples at a time; more go through in several. `most_lanes` 0: as many as the machine
    /// has processors.
    serving_session(const graph_view& g, const session_options& options, B& backend, int most_lanes)
        : graph_(with_batch(g, g.tensors[0].extents[0])), strategy_(g), options_(for_predictions(options)),
          backend_(backend), threads_(1),
          kept_(graph_.view(), strategy_, 1, optimizer(sgd{}), options_, backend, threads_),
          most_(most_lanes > 0 ? to_size(most_lanes) : to_size(sysconf(_SC_NPROCESSORS_ONLN))) {
        if (most_lanes < 0) {
            throw error("tessera: a predictor of " + std::to_string(most_lanes) +
                        " lanes; it needs at least one, or 0 for one for each processor");
        }
    }
    serving_session(const serving_session&) = delete;
    serving_session& operator=(const serving_session&) = delete;

    graph_view graph_of() const { return graph_.view(); }

    /// What session::predict() says, from any thread. Throws what that throws.
    std::vector<prediction> predict(std::span<const input_data> inputs, const std::vector<int>& wanted) {
        const shared_turn reads(changes_);
        const detail::prediction_setting& of = setting(wanted);
        const graph_view longest = of.part.network.view();
        const index_t length = detail::length_of(longest, inputs);
        const index_t planned = graph_.tensors[0].extents.extent[0];
        const graph own = detail::network_at(longest, length, planned);
        const graph_view part = own.view();
        const index_t samples = detail::count_samples(part, inputs);
        std::vector<prediction> all(wanted.size());
        const on_lane mine(*this);
        for (index_t begin = 0; begin < samples; begin += planned) {
            const index_t count = begin + planned < samples ? planned : samples - begin;
            const std::vector<input_data> batch = detail::samples_of(inputs, samples, begin, count);
            detail::check_inputs(part, batch);
            predict(mine.own(), plan_for({of, count, length}), batch, wanted, all);
        }
        for (prediction& p : all) {
            p.extents.extent[0] = samples;
        }
        return all;
    }

    /// Calls change(values), which may set parameters, when no prediction is under way and until it returns none
    /// begins: a prediction has the parameters of before or those of after, never of both. `values` is a session of
    /// {.for_training = false}, such as load_weights and load_checkpoint take.
    template <class Change>
    void change(Change&& change) {
        const turn mine(changes_);
        change(kept_);
    }
    /// Lanes that there are: the most calls that have been under way at one time.
    int lanes() const {
        const locked lock(planning_);
        return static_cast<int>(lanes_.size());
    }
    /// Bytes of all lanes' arenas together, and of the parameters, which are there once.
    index_t arena_bytes() const {
        const locked lock(planning_);
        index_t bytes = 0;
        for (const auto& l : lanes_) {
            bytes += l->bytes.load();
        }
        return bytes;
    }
    index_t parameter_bytes() const { return kept_.training_plan().persistent_bytes[0]; }

private:
    using planned_run = detail::planned_prediction;
    struct prepared_run {
        planned_run* of;
        executor<B> runner;
    };
    /// What one call at a time has.
    struct lane {
        lane() : threads(1), arenas() {}
        ~lane() {
            for (const auto& r : runs) {
                r->of->users.fetch_sub(1);
            }
        }
        workers threads; ///< none of its own: device 0 is who calls
        shared_arenas arenas;
        std::vector<owned<prepared_run>> runs; ///< the newest last
        detail::piece_sum sum;
        std::atomic<index_t> bytes{0};
        bool is_free = true;
    };

    /// A lane for a call.
    class on_lane {
    public:
        explicit on_lane(serving_session& all) : all_(all) {
            all_.room_.wait([&] {
                for (const auto& l :
                     all_.lanes_) { // the first of those that are free: the one that has been used the most
                    if (l->is_free) {
                        own_ = l.get();
                        own_->is_free = false;
                        return true;
                    }
                }
                if (all_.lanes_.size() < all_.most_) {
                    const locked lock(all_.planning_); // who counts them has that
                    all_.lanes_.push_back(owned<lane>(new lane));
                    own_ = all_.lanes_.back().get();
                    own_->is_free = false;
                    return true;
                }
                return false;
            });
        }
        on_lane(const on_lane&) = delete;
        on_lane& operator=(const on_lane&) = delete;
        ~on_lane() {
            all_.room_.leave([&] { own_->is_free = true; });
        }
        lane& own() const { return *own_; }

    private:
        serving_session& all_;
        lane* own_ = nullptr;
    };

    static session_options for_predictions(session_options o) {
        o.for_training = false;
        o.keep_gradients = false;
        o.links = {};
        return o;
    }

    const detail::prediction_setting& setting(const std::vector<int>& wanted) {
        const locked lock(planning_);
        for (const auto& x : settings_) {
            if (x->wanted == wanted) {
                return *x;
            }
        }
        settings_.push_back(owned<detail::prediction_setting>(
            new detail::prediction_setting(detail::setting_for(graph_.view(), strategy_, wanted))));
        return *settings_.back();
    }

    /// A plan, counted as used by the lane that asks for it, which gives it up again.
    planned_run& plan_for(const detail::prediction_key& what) {
        const locked lock(planning_);
        for (std::size_t i = 0; i < plans_.size(); ++i) {
            if (plans_[i]->what == what) {
                plans_[i]->users.fetch_add(1);
                owned<planned_run> mine = std::move(plans_[i]);
                plans_.erase(plans_.begin() + static_cast<std::ptrdiff_t>(i));
                plans_.push_back(std::move(mine));
                return *plans_.back();
            }
        }
        for (std::size_t i = 0; plans_.size() >= most_ready_plans && i < plans_.size();) {
            if (plans_[i]->users.load() == 0) {
                plans_.erase(plans_.begin() + static_cast<std::ptrdiff_t>(i));
            } else {
                ++i;
            }
        }
        owned<planned_run> made = detail::lowered_prediction(what, graph_.tensors[0].extents.extent[0], options_.fuse);
        const graph_view g = made->network.network.view();
        backend_.bind(made->bound, g, &kept_.stored());
        const optimizer none = sgd{};
        tessera::finish(g, made->bound, options_.device_memory, &none);
        plans_.push_back(std::move(made));
        plans_.back()->users.fetch_add(1);
        return *plans_.back();
    }

    /// What a lane runs for a plan, of which plan_for() has counted a user.
    executor<B>& prepared(lane& l, planned_run& wanted) {
        for (std::size_t i = 0; i < l.runs.size(); ++i) {
            if (l.runs[i]->of == &wanted) {
                wanted.users.fetch_sub(1); // it counts already
                owned<prepared_run> mine = std::move(l.runs[i]);
                l.runs.erase(l.runs.begin() + static_cast<std::ptrdiff_t>(i));
                l.runs.push_back(std::move(mine));
                return l.runs.back()->runner;
            }
        }
        try {
            if (l.runs.size() >= most_ready_plans) {
                l.runs[0]->of->users.fetch_sub(1);
                l.runs.erase(l.runs.begin());
            }
            make_room(l, wanted.bound);
            l.runs.push_back(owned<prepared_run>(
                new prepared_run{&wanted, executor<B>(backend_, l.threads, wanted.network.network.view(), wanted.bound,
                                                      kept_.stored(), l.arenas)}));
        } catch (...) {
            wanted.users.fetch_sub(1);
            throw;
        }
        return l.runs.back()->runner;
    }

    void make_room(lane& l, const plan& p) {
        if (l.arenas.has_room(working_arenas(p))) {
            return;
        }
        for (const auto& r : l.runs) {
            r->of->users.fetch_sub(1);
        }
        l.runs.clear(); // they are prepared again where the arena then lies
        l.arenas.grow(working_arenas(p));
        l.bytes.store(l.arenas.bytes(0));
    }

    void predict(lane& l, planned_run& r, const std::vector<input_data>& batch, const std::vector<int>& wanted,
                 std::vector<prediction>& all) {
        executor<B>& runner = prepared(l, r);
        const graph& network = r.network.network;
        std::vector<const void*> pointers(network.tensors.size(), nullptr);
        std::size_t k = 0;
        for (std::size_t t = 0; t < pointers.size(); ++t) {
            pointers[t] = network.tensors[t].producer < 0 ? batch[k++].data : nullptr;
        }
        runner.run_alone(pointers.data(), options_.seed);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const int whole_number = r.what.part.part.tensors[to_size(wanted[i])];
            const int t = r.network.tensors[to_size(whole_number)];
            const shape& extents = network.tensors[to_size(t)].extents;
            std::vector<float> values(to_size(extents.volume()), 0.0F);
            l.sum.add(backend_, r.bound, runner.memory(), r.bound.results, t, 0, whole(extents), values);
            all[i].extents = extents;
            all[i].values.insert(all[i].values.end(), values.begin(), values.end());
        }
    }

    graph graph_;
    strategy strategy_;
    session_options options_;
    /// it prepares tasks on several threads at a time, as for several devices; plans are bound one after the other
    B& backend_;
    workers threads_;
    session<B> kept_; ///< the parameters
    std::size_t most_;
    turns changes_;          ///< alone: who sets parameters; together: predictions
    mutable mutex planning_; ///< with the next two
    std::vector<owned<detail::prediction_setting>> settings_;
    std::vector<owned<planned_run>> plans_; ///< the newest last
    detail::waiting_room room_;
    std::vector<owned<lane>> lanes_; ///< last: they use plans
};

} // namespace tessera

#include "tessera/base/end_header.inl"
