// SPDX-License-Identifier: Apache-2.0
// Bodies of progress.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/session/progress.hpp"

#include "tessera/net/paths.hpp"

#include <bit>

namespace tessera::detail {

TESSERA_INLINE void training_progress::resume_after(std::uint64_t steps, std::uint64_t seed, double learning_rate) {
    next_.step = steps;
    next_.seed = seed;
    next_.learning_rate = learning_rate;
}

TESSERA_INLINE void training_progress::prepare(const graph& network, std::span<const std::vector<input_data>> batches,
                                               std::span<const double> rates) {
    const std::size_t tensors = network.tensors.size();
    if (group() != nullptr) {
        report_ = &report_of_run(runs_begun_++);
        report_->forget_lost();
        group()->set_reports(static_cast<run_report*>(shared_reports_));
    }
    pointers_.resize(tensors * batches.size());
    states_.assign(batches.size(), next_);
    for (std::size_t i = 0; i < batches.size(); ++i) {
        std::size_t k = 0;
        for (std::size_t t = 0; t < tensors; ++t) {
            pointers_[i * tensors + t] = network.tensors[t].producer < 0 ? batches[i][k++].data : nullptr;
        }
        states_[i].inputs = pointers_.data() + i * tensors;
        states_[i].step = next_.step + i;
        states_[i].learning_rate = rates.empty() ? next_.learning_rate : rates[i];
        states_[i].report = report_;
    }
    next_.learning_rate = states_.back().learning_rate;
}

TESSERA_INLINE void training_progress::tell_all_lost() {
    tell_lost(next_.step);
    if (group() != nullptr && runs_begun_ > 1) {
        tell_lost(next_.step, report_of_run(runs_begun_ - 2));
    }
}

TESSERA_INLINE void training_progress::tell_lost(std::uint64_t taken, run_report& report) {
    if (!report.has_lost() || (group() != nullptr && report.lost_step() == told_)) {
        return;
    }
    const std::uint64_t step = report.lost_step();
    const int parameter = report.lost_parameter();
    if (group() != nullptr) { // others may not have read it yet
        told_ = step;
    } else {
        report.forget_lost();
    }
    if (step < taken) {
        throw error("tessera: the update of parameter " + parameter_path_of(of_.view(), parameter) + " in step " +
                    std::to_string(step + 1) + " is not finite, though the loss is; " +
                    (of_.update.clip_norm > 0    ? "no parameter was changed"
                     : of_.update.is_layerwise() ? "it was not changed"
                                                 : "what would have become so was not changed") +
                    "; lower the learning rate, or clip gradients");
    }
}

TESSERA_INLINE void training_progress::compare_trainings() {
    if (group() != nullptr) {
        training_ = of_.identity_lines().hash();
        group()->compare(barrier_point::compare_trainings, training_, [this] { return of_.identity_lines().text(); });
    }
}

TESSERA_INLINE void training_progress::compare_plans(const plan& p) {
    if (group() != nullptr) {
        group()->compare(barrier_point::compare_plans, p.hash, [&] {
            field_lines all;
            all.add("plan", p.hash);
            all.add("plan.tasks", p.tasks.size());
            all.add("plan.tiles", p.tiles.size());
            return all.text();
        });
        training_ = op::mix(training_ ^ p.hash);
    }
}

TESSERA_INLINE void training_progress::compare_keys(const run_key& key) const {
    if (group() == nullptr) {
        return;
    }
    step_identity s;
    s.training = training_;
    s.kind = key.kind;
    s.number = next_.step;
    s.steps = to_size(key.steps_per_plan);
    s.seed = next_.seed;
    s.learning_rate = next_.learning_rate;
    s.samples = key.size.samples;
    s.length = key.size.length;
    group()->compare(barrier_point::begin_run, hash_of_fields(s), [&] { return lines_of_step(s); });
}

TESSERA_INLINE void training_progress::share_reports() {
    if (group() != nullptr) {
        shared_reports_ = group()->share(group()->first_here(), 2 * sizeof(run_report));
    }
}

TESSERA_INLINE void training_progress::unshare_reports() {
    if (shared_reports_ != nullptr) {
        group()->set_reports(nullptr);
        group()->unshare(shared_reports_);
    }
}

TESSERA_INLINE step_identity training_progress::identity_of(const run_key& key, const plan& p, const graph_view& g,
                                                            std::span<const std::vector<input_data>> batches,
                                                            bool whole) const {
    step_identity s;
    s.training = training_;
    s.plan = p.hash;
    s.kind = key.kind;
    s.number = states_[0].step;
    s.steps = batches.size();
    s.part = !whole;
    s.seed = states_[0].seed;
    s.learning_rate = states_[0].learning_rate;
    s.samples = key.size.samples;
    s.length = key.size.length;
    for (std::size_t i = 0; i < batches.size(); ++i) {
        s.learning_rates = op::mix(s.learning_rates ^ std::bit_cast<std::uint64_t>(states_[i].learning_rate));
        if (whole) {
            add_batch(s, g, batches[i]);
        }
    }
    s.learning_rates = batches.size() > 1 ? s.learning_rates : 0; // else it says no more than the first
    return s;
}

TESSERA_INLINE std::string training_progress::lines_of_step(const step_identity& what) const {
    field_lines all = of_.identity_lines();
    all.add("step", what);
    return all.text();
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
