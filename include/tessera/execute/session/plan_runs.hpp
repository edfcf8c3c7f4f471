// SPDX-License-Identifier: Apache-2.0
// Steps of a training, and runs of plans for others who read what they leave.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/finite.hpp"
#include "tessera/execute/not_finite.hpp"
#include "tessera/execute/ranks/batch_parts.hpp"
#include "tessera/execute/session/plan_cache.hpp"

#include <span>

namespace tessera::detail {

/// Runs the plans of a session, and decides whether a step is taken. It owns nothing but room for its arguments: plans,
/// parameters, results and the number of the step are the other parts'.
template <class B>
class plan_runs {
public:
    plan_runs(const session_setting& of, const session_networks& networks, parameter_state<B>& values,
              run_results<B>& results, training_progress& progress, plan_cache<B>& plans)
        : of_(of), networks_(networks), values_(values), results_(results), progress_(progress), plans_(plans) {}
    plan_runs(const plan_runs&) = delete;
    plan_runs& operator=(const plan_runs&) = delete;

    /// One run of a plan with the present parameters; `rates` and `whole` as training_progress has them.
    void run(ready_run<B>& r, std::span<const std::vector<input_data>> batches, std::span<const double> rates = {},
             simulation::timeline* measured = nullptr, bool whole = true) {
        plans_.leave_room_for(r);
        progress_.prepare(r.planned.network, batches, rates);
        plans_.hand_parameters_to(r);
        progress_.begin(r.key, r.runner.bound(), r.planned.network.view(), batches, whole,
                        [&](std::span<const run_state> states) {
                            measured == nullptr ? r.runner.run(states) : r.runner.run(states, *measured);
                        });
    }

    /// A step on one batch; returns its loss.
    double step(std::span<const input_data> inputs, simulation::timeline* measured) {
        batch_.assign(inputs.begin(), inputs.end());
        losses_.clear();
        take_steps({&batch_, 1}, {}, measured, losses_);
        return losses_.back();
    }
    /// A step of a group of processes, each of which hands in its own part of a full batch.
    double step_part(std::span<const input_data> inputs) {
        const index_t samples = of_.batch();
        const interval mine =
            group() == nullptr ? interval{0, samples} : even_part(samples, group()->size(), group()->rank());
        const index_t length = length_of(of_.view(), inputs);
        const index_t given = check_inputs(networks_.at(nullptr, length), inputs);
        if (given != mine.size()) {
            throw error("tessera: this rank's part of a batch of " + std::to_string(samples) + " has " +
                        std::to_string(mine.size()) + " samples, and " + std::to_string(given) + " were given");
        }
        ready_run<B>& r = plans_.find({{samples, length}, run_kind::training, 1});
        require_own_samples(r.runner.bound(), group(), samples);
        batch_.assign(inputs.begin(), inputs.end());
        for (input_data& x : batch_) { // as if the whole batch were there: devices count from its start
            const index_t before = x.elements / given * mine.begin * static_cast<index_t>(sizeof(float));
            x.data = reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(x.data) -
                                                   static_cast<std::uintptr_t>(before));
        }
        losses_.clear();
        take_steps(r, {&batch_, 1}, {}, nullptr, losses_, false);
        return losses_.back();
    }
    /// Steps on one batch each, as many at a time as the strategy's plan covers.
    std::vector<double> steps(std::span<const std::vector<input_data>> batches, std::span<const double> rates) {
        if (!rates.empty() && rates.size() != batches.size()) {
            throw error("tessera: " + std::to_string(batches.size()) + " steps and " + std::to_string(rates.size()) +
                        " learning rates; give one for each step, or none");
        }
        std::vector<double> losses;
        const auto steps_per_plan = to_size(of_.how.steps_per_plan);
        for (std::size_t i = 0; i < batches.size();) {
            bool all = i + steps_per_plan <= batches.size();
            const batch_size size = all && steps_per_plan > 1 ? networks_.size_of(batches[i]) : batch_size{};
            for (std::size_t k = 1; k < steps_per_plan && all; ++k) {
                all = networks_.size_of(batches[i + k]) == size;
            }
            const std::size_t count = all ? steps_per_plan : 1;
            take_steps(batches.subspan(i, count), rates.empty() ? rates : rates.subspan(i, count), nullptr, losses);
            i += count;
        }
        return losses;
    }

    /// Why a loss of a batch may not be finite.
    std::string cause_of_loss(std::span<const input_data> inputs) const {
        return detail::cause_of_loss(networks_.at_length_of(inputs), inputs,
                                     [this](int p) { return plans_.settled().parameter(p); });
    }

private:
    process_group* group() const { return of_.group(); }

    /// One run of a plan of as many steps as there are batches, all of one size.
    void take_steps(std::span<const std::vector<input_data>> batches, std::span<const double> rates,
                    simulation::timeline* measured, std::vector<double>& losses) {
        if (!of_.options.for_training) {
            throw error(
                "tessera: a training step of what was made for predictions alone; make it with {.for_training = true}");
        }
        if (values_.uses_ema()) {
            throw error("tessera: a training step while averages of the weights are in use; call use_ema(false) first");
        }
        take_steps(plans_.find({networks_.size_of(batches[0]), run_kind::training, static_cast<int>(batches.size())}),
                   batches, rates, measured, losses, true);
    }
    /// `whole`: this process has all samples of the batches, so that it can look for the cause of a loss that is not
    /// finite.
    void take_steps(ready_run<B>& r, std::span<const std::vector<input_data>> batches, std::span<const double> rates,
                    simulation::timeline* measured, std::vector<double>& losses, bool whole) {
        const std::uint64_t before = progress_.steps();
        run(r, batches, rates, measured, whole);
        const std::uint64_t end = before + batches.size();
        // once: it comes from devices, of all processes
        const double first = queues_tasks<B> ? results_.total_loss(r, 0) : 0;
        if (!tessera::is_finite(first)) { // which its updates have seen on the devices
            progress_.report().refuse(before);
        }
        const std::uint64_t refused = progress_.report().refused();
        const std::uint64_t taken = refused < end ? refused : end;
        while (progress_.steps() < taken) {
            const int i = static_cast<int>(progress_.steps() - before);
            losses.push_back(queues_tasks<B> && i == 0 ? first : results_.total_loss(r, i));
            progress_.step_is_taken();
        }
        progress_.add_staleness(r.staleness, taken - before);
        if (taken < end) {
            plans_.take_parameters_back();
        }
        if (group() == nullptr || !r.runner.has_queues()) { // else when all processes' transfers have ended
            progress_.tell_lost(taken);
        }
        if (taken < end) {
            throw error(
                "tessera: the loss of step " + std::to_string(taken + 1) +
                " is not a finite number, and the step is not taken: " +
                (whole ? cause_of_loss(batches[taken - before]) : "lower the learning rate, or look at the batch"));
        }
    }

    const session_setting& of_;
    const session_networks& networks_;
    const parameter_state<B>& values_;
    run_results<B>& results_;
    training_progress& progress_;
    plan_cache<B>& plans_;
    std::vector<input_data> batch_; ///< with the next: kept so that a step allocates nothing
    std::vector<double> losses_;
};

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
