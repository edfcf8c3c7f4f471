// SPDX-License-Identifier: Apache-2.0
// How far a training has come: the next step, what runs have reported, and in a group of processes what a run is, for
// all of them to compare.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/input_data.hpp"
#include "tessera/execute/local/run_report.hpp"
#include "tessera/execute/ranks/step_identity.hpp"
#include "tessera/execute/session/run_key.hpp"
#include "tessera/execute/session/setting.hpp"
#include "tessera/plan/staleness.hpp"
#include "tessera/task/compute.hpp"

#include <span>
#include <string>
#include <vector>

namespace tessera::detail {

/// Owns the number of the next step, its learning rate and random numbers, and the reports of runs. It does not run
/// anything, and touches neither plans nor parameters.
class training_progress {
public:
    explicit training_progress(const session_setting& of) : of_(of) {}
    training_progress(const training_progress&) = delete;
    training_progress& operator=(const training_progress&) = delete;

    std::uint64_t steps() const { return next_.step; }
    std::uint64_t seed() const { return next_.seed; }
    double learning_rate() const { return next_.learning_rate; }
    void set_learning_rate(double rate) { next_.learning_rate = rate; }
    void resume_after(std::uint64_t steps, std::uint64_t seed, double learning_rate);
    void step_is_taken() { ++next_.step; }
    /// How many steps' gradients the parameters of the steps that were taken missed.
    const staleness_record& staleness() const { return staleness_; }
    /// Of the first `taken` steps of a run.
    void add_staleness(const std::vector<int>& by_step, std::size_t taken) { staleness_.add(by_step, taken); }

    // ---- one run ----------------------------------------------------------------------------------------------------

    /// Sets the states of a run on these batches, one each: at the present rate, or that which `rates` has for each.
    void prepare(const graph& network, std::span<const std::vector<input_data>> batches, std::span<const double> rates);
    /// Hands run(states) the states, and in a group with them what the run is. Of what the run before has reported,
    /// transfers that are still under way may yet be told. `whole`: this process has all samples of the batches.
    template <class Run>
    void begin(const run_key& key, const plan& p, const graph_view& g, std::span<const std::vector<input_data>> batches,
               bool whole, Run&& run) {
        report_->begin();
        const step_identity what = group() != nullptr ? identity_of(key, p, g, batches, whole) : step_identity{};
        const auto lines = [&] { return lines_of_step(what); };
        const run_identity who{group() != nullptr ? hash_of_fields(what) : 0, lines};
        states_[0].identity = group() != nullptr ? &who : nullptr;
        run(std::span<const run_state>(states_));
    }
    /// Of the last run.
    run_report& report() { return *report_; }
    /// Throws for an update, of a step before `taken`, that is not finite, once.
    void tell_lost(std::uint64_t taken) { tell_lost(taken, *report_); }
    /// The same of all runs whose transfers have ended.
    void tell_all_lost();

    // ---- a group of processes; without one they do nothing ----------------------------------------------------------

    void compare_trainings();
    void compare_plans(const plan& p);
    /// Before a plan is made, for which all processes come. Who has it runs it at once, and learns from the same
    /// barrier that another has not, and why.
    void compare_keys(const run_key& key) const;
    void share_reports();
    /// Gives them back; all processes call it, when no transfer may report any more.
    void unshare_reports();

private:
    process_group* group() const { return of_.group(); }
    run_report& report_of_run(int run) const { return static_cast<run_report*>(shared_reports_)[run % 2]; }
    void tell_lost(std::uint64_t taken, run_report& report);
    step_identity identity_of(const run_key& key, const plan& p, const graph_view& g,
                              std::span<const std::vector<input_data>> batches, bool whole) const;
    std::string lines_of_step(const step_identity& what) const;

    const session_setting& of_;
    run_state next_{.seed = of_.options.seed, .learning_rate = static_cast<double>(of_.update.learning_rate)};
    std::uint64_t training_ = 0; ///< in a group: hash of its identity
    run_report own_report_;
    void* shared_reports_ =
        nullptr; ///< of a group of processes, two: while some still read that of a run others may begin the next
    int runs_begun_ = 0;
    run_report* report_ = &own_report_;     ///< of the last run
    std::uint64_t told_ = run_report::none; ///< the last update that was not finite, in a group
    staleness_record staleness_;
    std::vector<run_state> states_; ///< with the next: kept so that a step allocates nothing
    std::vector<const void*> pointers_;
};

} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/execute/session/progress.inl"
#endif

#include "tessera/base/end_header.inl"
