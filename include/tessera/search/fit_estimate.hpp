// SPDX-License-Identifier: Apache-2.0
// What a choice of fit() takes in time and memory, quickly and roughly: to decide which are worth a simulation, and to cut stages.
#pragma once

#include "tessera/machine/cluster.hpp"
#include "tessera/search/fit_space.hpp"

namespace tessera::search {

/// An estimate of a step.
struct fit_guess {
    index_t step = 0;  ///< ns
    index_t bytes = 0; ///< of the device that needs most
};

class fit_estimator {
public:
    fit_estimator(const cluster& on, const graph_view& g, const fit_options& o) : on_(on), g_(g), o_(o) {
        std::vector<char> seen(at(g.parameter_count), 0);
        for (int op = 0; op < g.op_count; ++op) {
            descriptions_.push_back(g.describe(op));
            index_t bytes = 0;
            for (const int p : g.ops[op].parameters) { // of the first who uses it
                bytes += seen[at(p)]++ == 0 ? g.parameters[p].extents.volume() * bytes_of(element::f32) : 0;
            }
            parameters_.push_back(bytes);
        }
    }

    /// What every operator takes of one micro-batch on one of `width` devices.
    struct operator_times {
        index_t forward = 0;
        index_t input = 0;
        index_t weight = 0;
        index_t kept = 0; ///< bytes of its output, or of its shard's
        int parts = 1;    ///< into which its parameters are split
    };
    const std::vector<operator_times>& times_of(int micro_batches, int width, baseline inside) {
        for (const auto& k : known_) {
            if (k.micro_batches == micro_batches && k.width == width && k.inside == inside) {
                return k.times;
            }
        }
        known_.push_back({micro_batches, width, inside, {}});
        for (int op = 0; op < g_.op_count; ++op) {
            known_.back().times.push_back(time_of(op, micro_batches, width, inside));
        }
        return known_.back().times;
    }

    /// The same, as what stages are balanced by.
    std::vector<schedule::operator_load> loads_of(const fit_choice& x) {
        std::vector<schedule::operator_load> loads;
        const auto& times = times_of(x.order.micro_batches, x.widths[0], x.inside[0]);
        for (int op = 0; op < g_.op_count; ++op) {
            const operator_times& t = times[at(op)];
            loads.push_back({t.forward + t.input + t.weight, held(op, t, copies_of(x, 0)), t.kept});
        }
        return loads;
    }

    /// Time units of every stage's steps, with what it recomputes.
    std::vector<schedule::step_times> step_times_of(const fit_choice& x) {
        std::vector<schedule::step_times> steps(at(x.order.stages()), {0, 0, 0, 0, 0});
        const std::vector<const operator_times*> of = tables_of(x);
        for (int op = 0; op < g_.op_count; ++op) {
            const auto s = at(x.stage[at(op)]);
            const operator_times& t = of[s][op];
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
        const std::vector<const operator_times*> of = tables_of(x);
        struct of_stage {
            index_t held = 0, kept = 0, entry = 0, parameters = 0;
        };
        std::vector<of_stage> stages(at(order.stages));
        for (int op = 0; op < g_.op_count; ++op) {
            const auto s = at(x.stage[at(op)]);
            const int width = x.widths[at(home[s])];
            const operator_times& t = of[s][op];
            stages[s].held += held(op, t, copies_of(x, home[s]));
            stages[s].parameters += parameters_[at(op)] / t.parts;
            stages[s].kept += t.kept;
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
            most[at(e.worker)] = std::max(most[at(e.worker)], bytes + (again ? s.kept : 0));
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

    struct known_times {
        int micro_batches = 0, width = 0;
        baseline inside = baseline::data_parallel;
        std::vector<operator_times> times;
    };

    /// The operators' times in every stage.
    std::vector<const operator_times*> tables_of(const fit_choice& x) {
        const std::vector<int> home = homes_of(x);
        const auto table = [&](std::size_t s) {
            return times_of(x.order.micro_batches, x.widths[at(home[s])], x.inside[s]).data();
        };
        std::vector<const operator_times*> tables(home.size());
        for (const bool known : {false, true}) { // a new one may move the others
            for (std::size_t s = 0; s < home.size(); ++s) {
                tables[s] = known || tables[s] == nullptr ? table(s) : tables[s];
            }
        }
        return tables;
    }

    operator_times time_of(int op, int micro_batches, int width, baseline inside) const {
        const description& d = descriptions_[at(op)];
        const configuration c = baseline_configuration(g_, op, width, inside);
        const int batch_loop = d.find_loop(loop_name::sample);
        interval ranges[max_loops];
        operator_times t;
        int shards = 1;
        for (int l = 0; l < d.loops.size(); ++l) {
            const int cut = c.degree[l] * (l == batch_loop ? micro_batches : 1);
            ranges[l] = {0, (d.loops[l].extent + cut - 1) / cut};
            shards *= c.degree[l];
            t.parts *= l == batch_loop ? 1 : c.degree[l];
        }
        const op_attributes& a = g_.ops[op].attributes;
        t.kept =
            a.kind == op_kind::flatten ? 0 : region(d, d.output(), ranges).volume() * bytes_of(g_.output_of(op).type);
        if (a.kind == op_kind::flatten) { // it only renames
            return t;
        }
        const device_class& on = on_.class_of(0);
        const index_t bytes = forward_bytes(d, ranges);
        t.forward =
            cost::roofline_time({cost::kind_of_work(a.kind), forward_flops(d, ranges), bytes, a.math}, on, o_.reached);
        const bool two = !g_.ops[op].parameters.empty();
        const index_t half = backward_flops(d, ranges) / (two ? 2 : 1);
        t.input = cost::roofline_time({cost::kind_of_work(a.kind), half, bytes, a.math}, on, o_.reached);
        t.weight = two ? t.input : 0;
        if (t.parts > 1) { // every shard takes in what the others have, forward and backward
            const route r = on_.between(0, std::min(width, on_.devices()) - 1);
            const index_t fetch = r.time(t.kept * (shards - 1));
            t.forward += fetch;
            t.input += fetch;
        }
        return t;
    }

    /// Devices that have the same parameters.
    int copies_of(const fit_choice& x, int worker) const { return x.widths[at(worker)] * (x.order.mirrors() ? 2 : 1); }
    /// Parameters, their gradients and the optimizer's state, of which each copy keeps a part.
    index_t held(int op, const operator_times& t, int copies) const {
        const index_t bytes = parameters_[at(op)] / t.parts;
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
    std::vector<description> descriptions_;
    std::vector<index_t> parameters_; ///< bytes
    std::vector<known_times> known_;
};

} // namespace tessera::search
