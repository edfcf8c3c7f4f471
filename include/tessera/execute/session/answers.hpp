// SPDX-License-Identifier: Apache-2.0
// Evaluation and prediction.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/session/plan_runs.hpp"

#include <span>

namespace tessera::detail {

/// What a network says of inputs with running statistics and without dropout. It owns nothing: it finds a plan, runs it
/// and reads the results, and leaves parameters and steps as they are.
template <class B>
class session_answers {
public:
    session_answers(const session_setting& of, session_networks& networks, run_results<B>& results,
                    plan_cache<B>& plans, plan_runs<B>& runs)
        : of_(of), networks_(networks), results_(results), plans_(plans), runs_(runs) {}
    session_answers(const session_answers&) = delete;
    session_answers& operator=(const session_answers&) = delete;

    evaluation evaluate(std::span<const input_data> inputs) {
        ready_run<B>& r = plans_.find({networks_.size_of(inputs), run_kind::evaluation, 1});
        const std::vector<input_data> batch(inputs.begin(), inputs.end());
        runs_.run(r, {&batch, 1});
        evaluation e;
        e.loss = results_.total_loss(r, 0);
        if (!tessera::is_finite(e.loss)) {
            throw error("tessera: the loss of an evaluation is not a finite number: " + runs_.cause_of_loss(inputs));
        }
        count_correct(r, inputs, e);
        weigh_losses(r, inputs, e);
        return e;
    }

    /// For each tensor of `wanted`, by its number in the network, all samples; batches of as many as were planned for
    /// go through at a time.
    std::vector<prediction> predict(std::span<const input_data> inputs, const std::vector<int>& wanted) {
        const prediction_setting& of = *networks_.setting_of(wanted);
        const index_t length = length_of(of.part.network.view(), inputs);
        const graph_view part = networks_.at(&of, length);
        const index_t planned = of_.batch();
        const index_t samples = count_samples(part, inputs);
        std::vector<prediction> all(wanted.size());
        for (index_t begin = 0; begin < samples; begin += planned) {
            const index_t count = begin + planned < samples ? planned : samples - begin;
            const std::vector<input_data> batch = samples_of(inputs, samples, begin, count);
            check_inputs(part, batch);
            ready_run<B>& r = plans_.find({{count, length}, run_kind::evaluation, 1, &of});
            runs_.run(r, {&batch, 1});
            for (std::size_t i = 0; i < wanted.size(); ++i) {
                const int whole_number = of.part.tensors[to_size(wanted[i])];
                const int t = r.planned.tensors[to_size(whole_number)];
                const shape& extents = r.planned.network.tensors[to_size(t)].extents;
                const std::vector<float> part_of_all = results_.tensor(r, t, extents);
                all[i].extents = extents;
                all[i].extents.extent[0] = samples;
                all[i].values.insert(all[i].values.end(), part_of_all.begin(), part_of_all.end());
            }
        }
        return all;
    }

private:
    void count_correct(const ready_run<B>& r, std::span<const input_data> inputs, evaluation& e) const {
        const graph_view g = r.planned.network.view();
        for (int op = 0; op < g.op_count; ++op) {
            const auto& in = g.ops[op].inputs;
            if (!g.is_loss(op) || in.size() < 2 || g.tensors[in[1]].type != element::i32) {
                continue; // it compares no classes
            }
            const input_data& labels = inputs[input_number(g, in[1])];
            detail::count_correct(g.ops[op].attributes, results_.leaders(r, in[0], inputs),
                                  static_cast<const std::int32_t*>(labels.data), e);
            return;
        }
    }

    /// Each loss, and what its mean is over.
    void weigh_losses(const ready_run<B>& r, std::span<const input_data> inputs, evaluation& e) const {
        const graph_view g = r.planned.network.view();
        for (int op = 0; op < g.op_count; ++op) {
            if (!g.is_loss(op)) {
                continue;
            }
            const op_node& o = g.ops[op];
            const auto& weigh = record_of(o.attributes).row_weight;
            double over = static_cast<double>(r.key.size.samples);
            if (weigh != nullptr) {
                const auto handed_in = [&](int k) {
                    return o.inputs.size() > k && g.tensors[o.inputs[k]].producer < 0
                               ? inputs[input_number(g, o.inputs[k])].data
                               : nullptr;
                };
                const std::vector<float> own =
                    o.parameters.empty() ? std::vector<float>{} : plans_.settled().parameter(o.parameters[0]);
                over = weigh(o.attributes,
                             {g.output_of(op).extents.volume(), static_cast<const std::int32_t*>(handed_in(1)),
                              static_cast<const float*>(handed_in(2)), own.empty() ? nullptr : own.data()});
            }
            const int before = r.planned.ops[to_size(op)];
            e.losses.push_back({results_.loss_of(before), o.attributes.weight, over});
        }
    }

    const session_setting& of_;
    session_networks& networks_;
    run_results<B>& results_;
    plan_cache<B>& plans_;
    plan_runs<B>& runs_;
};

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
