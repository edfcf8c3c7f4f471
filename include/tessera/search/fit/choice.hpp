// SPDX-License-Identifier: Apache-2.0
// The strategies among which fit() chooses: a schedule with its micro-batches and re-materialization, stages, how each
// is split inside, and how what devices share is synchronized.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/profile.hpp"
#include "tessera/plan/lower/input.hpp"
#include "tessera/plan/print.hpp"
#include "tessera/schedule/policies.hpp"
#include "tessera/schedule/schedules.hpp"
#include "tessera/search/fit/policies.hpp"
#include "tessera/search/pipeline.hpp"

namespace tessera::search {

/// One strategy of the space.
struct fit_choice {
    schedule::settings order;                        ///< one worker: no pipeline, micro-batches one after the other
    std::vector<int> widths;                         ///< devices of every worker
    std::vector<baseline> inside;                    ///< how each stage is split over them
    std::vector<int> stage;                          ///< of every operator
    const schedule::policy_record* policy = nullptr; ///< null: every gradient by itself
    bool overlap = false;                            ///< communication in a list of its own, beside computation

    /// Devices that may have copies of the same parameters, at most.
    int members() const;
    int devices() const;
    friend bool operator==(const fit_choice&, const fit_choice&) = default;
};

struct tried_option {
    std::string_view name;
    std::vector<int> values;
};

struct fit_options {
    index_t memory = 0;     ///< bytes that each device may need; 0: as the machine says, which is the most in any case
    lower_options lowering; ///< the optimizer, above all
    cost::roofline_efficiency reached;
    const cost::profile* measured = nullptr;                   ///< asked first for the times of tasks in simulations
    statistics_over statistics = statistics_over::micro_batch; ///< of batch norms
    std::vector<const schedule::schedule_record*> schedules = schedule::every_schedule();
    std::vector<int> micro_batches = {1, 2, 4, 8, 16, 32, 64};
    /// Values that are tried of schedules' options; of those that are not named here, the usual one.
    std::vector<tried_option> tried = {{schedule::parts_option.name, {1, 2, 4}}};
    option_values options{}; ///< of policies, where they have them
    std::vector<baseline> inside = {baseline::data_parallel, baseline::model_parallel, baseline::one_weird_trick};
    std::vector<schedule::rematerialize> again = {schedule::rematerialize::none, schedule::rematerialize::all,
                                                  schedule::rematerialize::except_last};
    /// Besides every gradient by itself.
    std::vector<const schedule::policy_record*> policies = schedule::policies_of_same_numbers();
    int steps_per_plan = 1;    ///< steps of a plan, without a barrier between them: what priorities are for
    bool overlap = true;       ///< where devices copy in turn, communication also in lists of its own
    bool fewer_devices = true; ///< also strategies that leave half of the devices, or more, idle
    int every_cut =
        64; ///< all cuts into stages are considered where they are no more than this; otherwise balanced ones
    int simulations = 48; ///< strategies that are lowered and simulated, at most ...
    int refinements = 32; ///< ... and so many more in the neighbourhood of the best
    /// Called with `context` before every simulation, and while strategies are listed and estimated, with how many
    /// simulations there have been and at most will be; where it returns false the search ends with the best so far.
    /// Null: the search runs to its end.
    bool (*go_on)(void* context, int simulated, int most) = nullptr;
    void* context = nullptr;
};

std::string to_text(const graph_view& g, const fit_choice& x);

/// The choice as a strategy; `times` are those of a list-scheduled schedule, `speed` that of the devices.
strategy strategy_of(const graph_view& g, const fit_choice& x, const fit_options& o,
                     const schedule::action_times& times = {}, const schedule::worker_speed& speed = {});

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/fit/choice.inl"
#endif

#include "tessera/base/end_header.inl"
