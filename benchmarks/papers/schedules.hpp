// SPDX-License-Identifier: Apache-2.0
// What the tables of schedules share: a pipeline's simulated step and planned memory, GPipe's closed models, and a fit
// of one constant.
#pragma once

#include "benchmarks/papers/clusters.hpp"
#include "benchmarks/support/by_name.hpp"
#include "benchmarks/support/timing.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/schedule/timetable.hpp"
#include "tessera/search/pipeline.hpp"
#include "tessera/simulate/simulate.hpp"

#include <cmath>
#include <cstdio>
#include <functional>

namespace papers {

namespace search = tessera::search;
namespace schedule = tessera::schedule;
using benchmarks::found_by;
using benchmarks::policy_by;
using benchmarks::schedule_by;

inline double in_ms(index_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-6; }
inline double in_gb(index_t bytes) { return static_cast<double>(bytes) * 1e-9; }

/// Every operator but the losses computes again for backward.
inline void recompute_all(const ts::graph_view& g, ts::strategy& s) {
    for (int op = 0; op < g.op_count; ++op) {
        s.ops[ts::to_size(op)].recompute = !g.is_loss(op);
    }
}

/// GPipe: a stage for every operator, re-materialization of everything.
inline ts::strategy gpipe(const ts::graph_view& g, const std::vector<int>& stage, int stages, int micro_batches,
                          schedule::rematerialize which = schedule::rematerialize::all, bool recomputes = true) {
    ts::strategy s = search::pipeline(g, stage, schedule_by("gpipe", stages, micro_batches, {}, which));
    if (recomputes) {
        recompute_all(g, s);
    }
    return s;
}

/// Milliseconds of one step.
inline double step_ms(const ts::graph_view& g, const ts::plan& p, const ts::cluster& on,
                      const ts::simulation::task_times& times = {}) {
    return in_ms(ts::simulation::simulate(g, p, on, times).makespan);
}
inline double step_ms(const ts::graph_view& g, const ts::strategy& s, const ts::cluster& on,
                      const ts::simulation::task_times& times = {}) {
    return step_ms(g, ts::lower(g, s.view(), on.devices()), on, times);
}

/// Milliseconds of a step in the middle of many without a barrier between them, so that they overlap: what so many
/// steps take longer than two, each.
inline double steady_ms(const ts::graph_view& g, ts::strategy s, const ts::cluster& on,
                        const ts::simulation::task_times& times = {}, int steps = 4) {
    const auto ms = [&](int steps_per_plan) {
        s.steps_per_plan = steps_per_plan;
        return step_ms(g, s, on, times);
    };
    return (ms(steps) - ms(2)) / (steps - 2);
}

/// What a plan needs of the devices' memory: parameters, state and results alone, as the papers count. Plans are not
/// bound, because the cost model's workspaces are those of a library that none of the papers' machines is known to have
/// used.
struct memory_use {
    index_t persistent = 0; ///< bytes of parameters and optimizer state, all devices together
    index_t arena = 0;      ///< bytes of everything else at its peak, all devices together
    index_t most = 0;       ///< of one device, both
};
inline memory_use memory_of(const ts::graph_view& g, const ts::strategy& s, int devices,
                            const ts::optimizer& update = ts::optimizer(ts::sgd{})) {
    ts::lower_options o;
    o.update = update;
    ts::plan p = ts::lower(g, s.view(), devices, o);
    ts::plan_memory(p);
    memory_use m;
    for (std::size_t d = 0; d < p.arena_bytes.size(); ++d) {
        m.persistent += p.persistent_bytes[d];
        m.arena += p.arena_bytes[d];
        m.most = std::max(m.most, p.arena_bytes[d] + p.persistent_bytes[d]);
    }
    return m;
}

inline index_t parameters_of(const ts::graph_view& g) {
    index_t n = 0;
    for (int p = 0; p < g.parameter_count; ++p) {
        n += g.parameters[p].trained ? ts::whole(g.parameters[p].extents).volume() : 0;
    }
    return n;
}

// ---- GPipe's closed models, balanced stages, free communication; throughput relative to K=2, M=1 --------------------

/// M K / (M + K - 1): what is computed again starts with the backward action.
inline double late_recompute(int stages, int micro_batches) {
    const double k = stages;
    const double m = micro_batches;
    return m * k / (m + k - 1);
}

/// What is computed again does not wait for the gradient that comes from the next stage; F : R : B = 1 : 1 : 2.
inline double early_recompute(int stages, int micro_batches) {
    const auto time = [](int k, int m) {
        ts::pipeline_schedule s = schedule_by("gpipe", k, m, {}, schedule::rematerialize::all);
        for (std::vector<ts::action>& list : s.workers) {
            std::vector<ts::action> longer;
            for (const ts::action& x : list) {
                if (x.what == ts::action_kind::backward) {
                    longer.push_back({x.stage, x.micro_batch, ts::action_kind::recompute});
                }
                longer.push_back(x);
            }
            list.swap(longer);
        }
        return static_cast<double>(schedule::timetable_of(s).makespan) / (k * m);
    };
    return time(2, 1) / time(stages, micro_batches);
}

/// The x between two bounds at which an increasing function comes nearest to a value, in steps of geometric bisection.
inline double fit(double low, double high, double wanted, bool increasing, const std::function<double(double)>& f,
                  int steps = 12) {
    for (int i = 0; i < steps; ++i) {
        const double middle = std::sqrt(low * high);
        ((f(middle) < wanted) == increasing ? low : high) = middle;
    }
    return std::sqrt(low * high);
}

} // namespace papers
