// SPDX-License-Identifier: Apache-2.0
// Bodies of estimate.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/fit/estimate.hpp"

namespace tessera::search {

TESSERA_INLINE std::vector<schedule::operator_load> fit_estimator::loads_of(const fit_choice& x) {
    std::vector<schedule::operator_load> loads;
    const auto& times = times_(x.order.micro_batches, x.widths[0], x.inside[0]);
    for (int op = 0; op < g_.op_count; ++op) {
        const operator_estimate& t = times[to_size(op)];
        const index_t bytes = times_.parameters(op) / t.parts;
        loads.push_back({t.forward + t.input + t.weight,
                         2 * bytes + o_.lowering.update.state_count() * bytes / shared_by(t, copies_of(x, 0)), t.kept});
    }
    return loads;
}

TESSERA_INLINE std::vector<schedule::action_times> fit_estimator::action_times_of(const fit_choice& x) {
    std::vector<schedule::action_times> actions(to_size(x.order.stages()), {0, 0, 0, 0, 0});
    const std::vector<const operator_estimate*> of = tables_of(x);
    for (int op = 0; op < g_.op_count; ++op) {
        const auto s = to_size(x.stage[to_size(op)]);
        const operator_estimate& t = of[s][op];
        const index_t again = x.order.again == schedule::rematerialize::none ? 0 : t.forward;
        actions[s].forward += t.forward;
        actions[s].backward += again + t.input + t.weight;
        actions[s].backward_input += again + t.input;
        actions[s].backward_weight += t.weight;
    }
    return actions;
}

TESSERA_INLINE fit_estimator::computation fit_estimator::computation_of(const fit_choice& x) {
    const std::vector<schedule::action_times> actions = action_times_of(x);
    const pipeline_schedule order = schedule::make(x.order, actions[0]);
    const schedule::timetable table = schedule::timetable_of(order, actions, schedule::chain_of_stages(order.stages));
    const std::vector<int> home = homes_of(x);
    const std::vector<const operator_estimate*> of = tables_of(x);
    computation c;
    c.stages.resize(to_size(order.stages));
    for (int op = 0; op < g_.op_count; ++op) {
        const auto s = to_size(x.stage[to_size(op)]);
        const int width = x.widths[to_size(home[s])];
        const operator_estimate& t = of[s][op];
        const index_t bytes = times_.parameters(op) / t.parts;
        computation::of_stage& own = c.stages[s];
        own.parameters += bytes;
        own.slices += bytes / shared_by(t, copies_of(x, home[s]));
        own.largest = std::max(own.largest, bytes);
        own.kept += t.kept;
        own.working = std::max(own.working, 2 * t.made);
        for (const int in : g_.ops[op].inputs) { // what comes from another stage, or from outside, lies here too
            const int producer = g_.tensors[in].producer;
            if (producer < 0 || x.stage[to_size(producer)] != x.stage[to_size(op)]) {
                own.entry += g_.tensors[in].extents.volume() * bytes_of(g_.tensors[in].type) /
                             (x.order.micro_batches * (x.inside[s] == baseline::model_parallel ? 1 : width));
            }
        }
    }
    std::vector<index_t> now(order.workers.size(), 0);
    c.most.assign(order.workers.size(), 0);
    const bool again = x.order.again != schedule::rematerialize::none;
    for (const schedule::timetable::entry& e : table.actions) {
        computation::of_stage& s = c.stages[to_size(e.what.stage)];
        index_t& bytes = now[to_size(e.worker)];
        const index_t each = again ? s.entry : s.entry + s.kept;
        bytes += e.what.what == action_kind::forward ? each : 0;
        c.most[to_size(e.worker)] = std::max(c.most[to_size(e.worker)], bytes + s.working + (again ? s.kept : 0));
        const bool last = e.what.what == action_kind::backward || e.what.what == action_kind::backward_weight;
        bytes -= last ? each : 0;
        s.last = last ? std::max(s.last, e.end) : s.last;
    }
    for (std::size_t s = 0; s < c.stages.size(); ++s) {
        c.stages[s].home = home[s];
        c.stages[s].backward = actions[s].backward;
        c.stages[s].busy = (actions[s].forward + actions[s].backward) * x.order.micro_batches;
        if (s > 0) { // a micro-batch's way in and its gradient's way back
            const route r = on_.between(first_of(x, home[s - 1]), first_of(x, home[s]));
            c.ways += 2 * r.time(c.stages[s].entry);
        }
    }
    return c;
}

TESSERA_INLINE fit_guess fit_estimator::operator()(const fit_choice& x, const computation& c) {
    const detail::policy_traits& how = traits(x.policy, x.members());
    std::vector<int> messages(c.stages.size(), 0);
    for (int op = 0; op < g_.op_count; ++op) {
        messages[to_size(x.stage[to_size(op)])] += how.messages[to_size(op)];
    }
    fit_guess guess;
    std::vector<index_t> most = c.most;
    for (std::size_t s = 0; s < c.stages.size(); ++s) {
        const computation::of_stage& own = c.stages[s];
        guess.step = std::max(guess.step, own.last + synchronization(x, own, how, messages[s]));
        const index_t bytes = held(x, own, how);
        const auto w = to_size(own.home);
        most[w] += bytes;
        if (x.order.mirrors()) {
            most[most.size() - 1 - w] += bytes;
        }
    }
    guess.step += c.ways;
    for (const index_t bytes : most) {
        guess.bytes = std::max(guess.bytes, bytes);
    }
    return guess;
}

TESSERA_INLINE std::vector<int> fit_estimator::homes_of(const fit_choice& x) {
    std::vector<int> home;
    for (int s = 0; s < x.order.stages(); ++s) {
        home.push_back(x.order.worker_of(s));
    }
    return home;
}

TESSERA_INLINE std::vector<const operator_estimate*> fit_estimator::tables_of(const fit_choice& x) {
    const std::vector<int> home = homes_of(x);
    const auto table = [&](std::size_t s) {
        return times_(x.order.micro_batches, x.widths[to_size(home[s])], x.inside[s]).data();
    };
    std::vector<const operator_estimate*> tables(home.size());
    for (const bool known : {false, true}) { // a new one may move the others
        for (std::size_t s = 0; s < home.size(); ++s) {
            tables[s] = known || tables[s] == nullptr ? table(s) : tables[s];
        }
    }
    return tables;
}

TESSERA_INLINE const detail::policy_traits& fit_estimator::traits(const schedule::policy_record* policy, int members) {
    for (const known_policy& k : policies_) {
        if (k.members == members && k.policy == policy) {
            return k.traits;
        }
    }
    const std::vector<schedule::ready_gradient> gradients = schedule::gradients_of(g_, speed_, members);
    const auto sync =
        policy == nullptr ? tessera::synchronization{} : synchronization_of(g_, members, speed_, *policy, o_.options);
    policies_.push_back({policy, members, detail::traits_of(g_, gradients, sync)});
    return policies_.back().traits;
}

TESSERA_INLINE index_t fit_estimator::held(const fit_choice& x, const computation::of_stage& s,
                                           const detail::policy_traits& how) const {
    const index_t message = std::min(s.parameters, std::max(s.largest, how.largest));
    const bool gathers = x.order.micro_batches > 1 || how.late_sums || how.queued; // gradients, before they go
    const index_t sums = how.whole ? how.late_updates ? s.parameters : message : how.late_updates ? s.slices : 0;
    return (how.sharded ? s.slices + s.largest : s.parameters) + (gathers ? s.parameters : message) + sums +
           o_.lowering.update.state_count() * (how.whole ? s.parameters : s.slices);
}

TESSERA_INLINE int fit_estimator::first_of(const fit_choice& x, int worker) {
    int first = 0;
    for (int w = 0; w < worker; ++w) {
        first += x.widths[to_size(w)];
    }
    return first;
}

TESSERA_INLINE index_t fit_estimator::synchronization(const fit_choice& x, const computation::of_stage& s,
                                                      const detail::policy_traits& how, int messages) const {
    const int first = first_of(x, s.home);
    const device_class& device = on_.class_of(first);
    const index_t update = 3 * (how.whole ? s.parameters : s.slices) * 1000 / device.memory_megabytes;
    const index_t others = s.parameters - s.slices; // bytes
    if (others == 0) {
        return update;
    }
    const int n = copies_of(x, s.home);
    const int last = x.order.mirrors() ? x.devices() - 1 - first : first + x.widths[to_size(s.home)] - 1;
    const route r = on_.between(first, last);
    const int rounds = how.method == exchange::server ? 2
                       : how.method == exchange::ring ? 2 * (n - 1)
                                                      : 2 * cost::ceil_log2(n);
    const index_t count = std::max(messages, 1);
    const index_t one_way = others * 1000 / std::max<index_t>(r.megabytes, 1);
    const index_t exchanged = count * rounds * r.latency + (how.sharded ? 1 : 2) * one_way;
    const bool overlaps = !how.late_sums && (x.overlap || !device.serial_copies);
    const index_t hidden = overlaps ? s.backward * (count - 1) / count : 0;
    const index_t gathered = how.sharded ? 2 * x.order.micro_batches * (one_way + r.latency) : 0;
    return std::max(exchanged / count, exchanged - hidden) + update +
           (gathered > 0 ? std::max(one_way / count, gathered - (overlaps ? s.busy : 0)) : 0);
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
