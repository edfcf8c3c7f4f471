// SPDX-License-Identifier: Apache-2.0
// Random strategies with everything that a strategy says.
#pragma once

#include "random_schedule.hpp"

#include "tessera/schedule/parameter_average.hpp"

#include <string>
#include <utility>

namespace test_support {

/// A strategy for a random network, with what it is.
struct random_pair {
    ts::strategy how;
    int devices = 1;
    std::string what;
};

/// Random splits; or a random pipeline with any schedule or any legal order; with a random synchronization policy,
/// parameters on one device, averages of copies, communication streams, plans of two steps and the
/// optimizer's state on the host now and then.
inline random_pair draw_pair(const ts::graph_view& g, const ts::optimizer& update, std::uint64_t seed, coverage& seen) {
    random pick{ts::op::mix(seed ^ 0x9a17ULL)};
    random_pair r;
    r.devices = 1 + pick(pick(4) == 0 ? 6 : 4);
    if (pick(3) == 0) {
        r.how = random_strategy(g, r.devices, seed, seen);
        r.what = "splits";
    } else {
        pipeline_case c = random_pipeline(g, r.devices, seed, seen);
        if (pick(4) == 0) {
            c.how.follow(random_order(stages_after(g, c.how, c.stages), 1 + pick(4), c.how.micro_batches, pick));
            c.how.statistics = ts::statistics_over::micro_batch;
            c.schedule = "any legal order";
        }
        r.how = std::move(c.how);
        r.what = c.schedule;
    }
    r.how.overlap = pick(3) == 0;
    random waits{ts::op::mix(seed ^ 0x57a7eULL)};
    r.how.state_on_host = update.state_count() > 0 && waits(5) == 0;
    const int policy = pick(3) == 0 ? -1 : pick(13);
    if (policy == 11 && update.state_count() == 0 && update.clip_norm == 0 && update.clip_value == 0) {
        r.how.sync = ts::schedule::parameter_average(1);
        r.what += ", averages";
    } else if (policy == 12) {
        r.how.parameters_on = pick(r.devices);
        r.what += ", parameters on one device";
    } else if (policy >= 0 && policy < 11) {
        // The recorded plans are of these; one more in their midst would make all of them others.
        static constexpr const char* drawn[] = {"blocking-all-reduce",
                                                "ring-all-reduce",
                                                "tensor-fusion",
                                                "buckets",
                                                "parameter-server",
                                                "p3",
                                                "byte-scheduler",
                                                "byte-scheduler-all-reduce",
                                                "zero-1",
                                                "zero-2",
                                                "zero-3"};
        const auto [name, sync] = small_policy(g, r.devices, drawn[policy]);
        r.how.sync = sync;
        r.what += ", " + name;
    }
    r.how.steps_per_plan = r.how.parameters_on < 0 && pick(5) == 0 ? 2 : 1;
    r.what += " on " + std::to_string(r.devices) + " devices, " + std::to_string(r.how.micro_batches) +
              " micro-batches" + (r.how.steps_per_plan > 1 ? ", two steps at a time" : "") +
              (r.how.state_on_host ? ", state on the host" : "");
    return r;
}

} // namespace test_support
