// SPDX-License-Identifier: Apache-2.0
// The strategies among which fit() chooses: a schedule with its micro-batches and re-materialization, stages, how each is split inside, and how what
// devices share is synchronized.
#pragma once

#include "tessera/cost/profile.hpp"
#include "tessera/plan/lowering_input.hpp"
#include "tessera/plan/print.hpp"
#include "tessera/schedule/kinds.hpp"
#include "tessera/search/fit_policies.hpp"
#include "tessera/search/pipeline.hpp"

namespace tessera::search {

/// One strategy of the space.
struct fit_choice {
    schedule::settings order;     ///< one worker: no pipeline, micro-batches one after the other
    std::vector<int> widths;      ///< devices of every worker
    std::vector<baseline> inside; ///< how each stage is split over them
    std::vector<int> stage;       ///< of every operator
    std::string policy = {};      ///< the name of one of the options' policies; none: every gradient by itself
    bool overlap = false;         ///< communication in a list of its own, beside computation

    /// Devices that may have copies of the same parameters, at most.
    int members() const {
        int most = 1;
        for (const int w : widths) {
            most = w > most ? w : most;
        }
        return most * (order.mirrors() ? 2 : 1);
    }
    int devices() const {
        int n = 0;
        for (const int w : widths) {
            n += w;
        }
        return n;
    }
    friend bool operator==(const fit_choice&, const fit_choice&) = default;
};

struct fit_options {
    index_t memory = 0;     ///< bytes that each device may need; 0: as the machine says, which is the most in any case
    lower_options lowering; ///< the optimizer, above all
    cost::roofline_efficiency reached;
    const cost::profile* measured = nullptr;                   ///< asked first for the times of tasks in simulations
    statistics_over statistics = statistics_over::micro_batch; ///< of batch norms
    std::vector<schedule::kind> schedules = {schedule::kind::fill_drain,
                                             schedule::kind::gpipe,
                                             schedule::kind::one_forward_one_backward,
                                             schedule::kind::interleaved,
                                             schedule::kind::zero_bubble_h1,
                                             schedule::kind::zero_bubble_v,
                                             schedule::kind::chimera,
                                             schedule::kind::gems};
    std::vector<int> micro_batches = {1, 2, 4, 8, 16, 32, 64};
    std::vector<int> chunks = {2};      ///< interleaved: stages of a worker
    std::vector<int> parts = {1, 2, 4}; ///< GEMS: micro-batches of a mini-batch
    std::vector<baseline> inside = {baseline::data_parallel, baseline::model_parallel, baseline::one_weird_trick};
    std::vector<schedule::rematerialize> again = {schedule::rematerialize::none, schedule::rematerialize::all,
                                                  schedule::rematerialize::except_last};
    std::vector<fit_policy> policies = every_policy(); ///< besides every gradient by itself
    int period = 1;            ///< steps of a plan, without a barrier between them: what priorities are for
    bool lanes = true;         ///< where devices copy in turn, communication also in lists of its own
    bool fewer_devices = true; ///< also strategies that leave half of the devices, or more, idle
    int every_cut =
        64; ///< all cuts into stages are considered where they are no more than this; otherwise balanced ones
    int simulations = 48; ///< strategies that are lowered and simulated, at most ...
    int refinements = 32; ///< ... and so many more in the neighbourhood of the best
    /// Called with `context` before every simulation, with how many there have been and at most will be; where it returns false the search ends with the best so far. Null:
    /// the search runs to its end.
    bool (*go_on)(void* context, int simulated, int most) = nullptr;
    void* context = nullptr;
};

inline std::string to_text(const graph_view& g, const fit_choice& x) {
    const bool piped = x.order.workers > 1;
    std::string s;
    if (piped) {
        s = schedule::to_text(x.order);
    } else {
        s = to_text(x.widths[0] == 1 ? baseline::single_device : x.inside[0]);
        s += x.order.micro_batches > 1 ? ", " + std::to_string(x.order.micro_batches) + " micro-batches" : "";
        s += x.order.again == schedule::rematerialize::none ? "" : ", all recomputed";
    }
    bool alike = true;
    for (const int w : x.widths) {
        alike = alike && w == x.widths[0];
    }
    if (!alike) {
        s += ", devices";
        for (const int w : x.widths) {
            s.append(1, ' ').append(std::to_string(w));
        }
    } else if (piped || x.widths[0] > 1) {
        s += ", " + std::to_string(x.widths[0]) + (x.widths[0] == 1 ? " device" : " devices") + (piped ? " each" : "");
    }
    if (piped && (!alike || x.widths[0] > 1)) {
        for (std::size_t i = 0; i < x.inside.size(); ++i) {
            if (i == 0 || x.inside[i] != x.inside[i - 1]) {
                s.append(i == 0 ? ", " : " | ").append(to_text(x.inside[i]));
            }
        }
    }
    if (piped) {
        s += ", cut before";
        for (int op = 1; op < g.op_count; ++op) {
            const auto at = static_cast<std::size_t>(op);
            if (x.stage[at] != x.stage[at - 1]) {
                s.append(1, ' ').append(path_of(g, op));
            }
        }
    }
    s += x.policy.empty() ? "" : ", " + x.policy;
    return x.overlap ? s + ", overlapped" : s;
}

/// A policy of the options by its name, made for a number of devices that may share parameters. Throws tessera::error for other names.
inline synchronization policy_of(const graph_view& g, const std::string& name, int members, const fit_options& o,
                                 const schedule::worker_speed& speed) {
    for (const fit_policy& p : o.policies) {
        if (p.name == name) {
            return p.make({schedule::gradients_of(g, speed, members), members, speed});
        }
    }
    throw error("tessera: there is no synchronization policy '" + name + "' among the " +
                std::to_string(o.policies.size()) + " of the options");
}

/// The choice as a strategy; `times` are those of a list-scheduled schedule, `speed` that of the devices.
inline strategy strategy_of(const graph_view& g, const fit_choice& x, const fit_options& o,
                            const schedule::step_times& times = {}, const schedule::worker_speed& speed = {}) {
    strategy s;
    if (x.order.workers > 1) {
        s = pipeline(g, x.stage, schedule::make(x.order, times),
                     {.widths = x.widths, .inside = x.inside, .again = x.order.again});
    } else {
        s = strategy(g);
        for (int op = 0; op < g.op_count; ++op) {
            configuration& c = s.ops[static_cast<std::size_t>(op)];
            c = baseline_configuration(g, op, x.widths[0], x.inside[0]);
            c.uneven = true;
            c.recompute = x.order.again != schedule::rematerialize::none;
        }
        s.micro_batches = x.order.micro_batches;
    }
    s.statistics = o.statistics;
    s.overlap = x.overlap;
    s.period = o.period;
    if (!x.policy.empty()) {
        s.sync = policy_of(g, x.policy, x.members(), o, speed);
    }
    return s;
}

} // namespace tessera::search
