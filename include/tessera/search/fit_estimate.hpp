// SPDX-License-Identifier: Apache-2.0
// What a choice of fit() takes in time and memory, quickly and roughly: to decide which are worth a simulation, and to cut stages.
#pragma once

#include "tessera/search/fit_times.hpp"

namespace tessera::search {

/// An estimate of a step.
struct fit_guess {
    index_t step = 0;  ///< ns
    index_t bytes = 0; ///< of the device that needs most
};

class fit_estimator {
public:
    fit_estimator(const cluster& on, const graph_view& g, const fit_options& o)
        : on_(on), g_(g), o_(o), times_(on, g, o.reached) {}

    /// What stages are balanced by.
    std::vector<schedule::operator_load> loads_of(const fit_choice& x) {
        std::vector<schedule::operator_load> loads;
        const auto& times = times_(x.order.micro_batches, x.widths[0], x.inside[0]);
        for (int op = 0; op < g_.op_count; ++op) {
            const operator_estimate& t = times[at(op)];
            loads.push_back({t.forward + t.input + t.weight, held(op, t, copies_of(x, 0)), t.kept});
        }
        return loads;
    }

    /// Time units of every stage's steps, with what it recomputes.
    std::vector<schedule::step_times> step_times_of(const fit_choice& x) {
        std::vector<schedule::step_times> steps(at(x.order.stages()), {0, 0, 0, 0, 0});
        const std::vector<const operator_estimate*> of = tables_of(x);
        for (int op = 0; op < g_.op_count; ++op) {
            const auto s = at(x.stage[at(op)]);
            const operator_estimate& t = of[s][op];
            const index_t again = x.order.again == schedule::rematerialize::none ? 0 : t.forward;
            steps[s].forward += t.forward;
            steps[s].backward += again + t.input + t.weight;
            steps[s].backward_input += again + t.input;
            steps[s].backward_weight += t.weight;
        }
        return steps;
    }

    fit_guess operator()(const fit_choice& x) {
        const std::vector<schedule::step_times> steps = step_times_of(x);
        const pipeline_schedule order = schedule::make(x.order, steps[0]);
        const schedule::timetable table = schedule::timetable_of(order, steps, schedule::chain_of_stages(order.stages));
        const std::vector<int> home = homes_of(x);
        const std::vector<const operator_estimate*> of = tables_of(x);
        struct of_stage {
            index_t held = 0, kept = 0, entry = 0, parameters = 0;
            index_t working = 0; // an output and its gradient, of the operator that has the largest
        };
        std::vector<of_stage> stages(at(order.stages));
        for (int op = 0; op < g_.op_count; ++op) {
            const auto s = at(x.stage[at(op)]);
            const int width = x.widths[at(home[s])];
            const operator_estimate& t = of[s][op];
            stages[s].held += held(op, t, copies_of(x, home[s]));
            stages[s].parameters += times_.parameters(op) / t.parts;
            stages[s].kept += t.kept;
            stages[s].working = std::max(stages[s].working, 2 * t.made);
            for (const int in : g_.ops[op].inputs) { // what comes from another stage, or from outside, lies here too
                const int producer = g_.tensors[in].producer;
                if (producer < 0 || x.stage[at(producer)] != x.stage[at(op)]) {
                    stages[s].entry += g_.tensors[in].extents.volume() * bytes_of(g_.tensors[in].type) /
                                       (x.order.micro_batches * (x.inside[s] == baseline::model_parallel ? 1 : width));
                }
            }
        }
        fit_guess guess;
        std::vector<index_t> now(order.workers.size(), 0);
        std::vector<index_t> most(order.workers.size(), 0);
        const bool again = x.order.again != schedule::rematerialize::none;
        for (const schedule::timetable::entry& e : table.steps) {
            const of_stage& s = stages[at(e.what.stage)];
            index_t& bytes = now[at(e.worker)];
            const index_t each = again ? s.entry : s.entry + s.kept;
            bytes += e.what.what == step_kind::forward ? each : 0;
            most[at(e.worker)] = std::max(most[at(e.worker)], bytes + s.working + (again ? s.kept : 0));
            const bool last = e.what.what == step_kind::backward || e.what.what == step_kind::backward_weight;
            bytes -= last ? each : 0;
            if (last) { // gradients are on their way when the last micro-batch has gone backward
                guess.step = std::max(guess.step, e.end + synchronization(x, home[at(e.what.stage)], s.parameters));
            }
        }
        for (std::size_t s = 0; s < stages.size(); ++s) {
            const auto w = at(home[s]);
            most[w] += stages[s].held;
            if (x.order.mirrors()) {
                most[order.workers.size() - 1 - w] += stages[s].held;
            }
            if (s > 0) { // a micro-batch's way in and its gradient's way back
                const route r = on_.between(first_of(x, home[s - 1]), first_of(x, home[s]));
                guess.step += 2 * r.time(stages[s].entry);
            }
        }
        for (const index_t bytes : most) {
            guess.bytes = std::max(guess.bytes, bytes);
        }
        return guess;
    }

    static std::vector<int> homes_of(const fit_choice& x) {
        std::vector<int> home;
        const int workers = x.order.workers;
        for (int s = 0; s < x.order.stages(); ++s) {
            const bool back = x.order.which == schedule::kind::zero_bubble_v && s >= workers;
            home.push_back(back ? 2 * workers - 1 - s : s % workers);
        }
        return home;
    }

private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    /// The operators' times in every stage.
    std::vector<const operator_estimate*> tables_of(const fit_choice& x) {
        const std::vector<int> home = homes_of(x);
        const auto table = [&](std::size_t s) {
            return times_(x.order.micro_batches, x.widths[at(home[s])], x.inside[s]).data();
        };
        std::vector<const operator_estimate*> tables(home.size());
        for (const bool known : {false, true}) { // a new one may move the others
            for (std::size_t s = 0; s < home.size(); ++s) {
                tables[s] = known || tables[s] == nullptr ? table(s) : tables[s];
            }
        }
        return tables;
    }

    /// Devices that have the same parameters.
    int copies_of(const fit_choice& x, int worker) const { return x.widths[at(worker)] * (x.order.mirrors() ? 2 : 1); }
    /// Parameters, their gradients and the optimizer's state, of which each copy keeps a part.
    index_t held(int op, const operator_estimate& t, int copies) const {
        const index_t bytes = times_.parameters(op) / t.parts;
        return 2 * bytes + bytes * o_.lowering.update.state_count() * t.parts / std::max(copies, t.parts);
    }
    static int first_of(const fit_choice& x, int worker) {
        int first = 0;
        for (int w = 0; w < worker; ++w) {
            first += x.widths[at(w)];
        }
        return first;
    }
    /// All-reduce over a ring (Patarasuk and Yuan 2009) of a worker's devices, and the mirrored ones, and the update.
    index_t synchronization(const fit_choice& x, int worker, index_t bytes) const {
        const int n = copies_of(x, worker);
        const int first = first_of(x, worker);
        const int last = x.order.mirrors() ? x.devices() - 1 - first : first + x.widths[at(worker)] - 1;
        const route r = on_.between(first, last);
        const index_t each = bytes / n;
        return 2 * (n - 1) * r.time(each) + 3 * bytes * 1000 / on_.class_of(first).memory_megabytes;
    }

    const cluster& on_;
    graph_view g_;
    const fit_options& o_;
    fit_times times_;
};

} // namespace tessera::search
