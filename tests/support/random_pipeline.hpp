// SPDX-License-Identifier: Apache-2.0
// Random strategies with micro-batches, stages, recomputation and every schedule.
#pragma once

#include "random_strategy.hpp"

#include "tessera/schedule/schedules.hpp"

#include <string>
#include <vector>

namespace test_support {

/// What a random pipeline is.
struct pipeline_case {
    ts::strategy how;
    std::string schedule;
    int stages = 1;
    int recomputed = 0; ///< operators
};

/// Puts every operator into one of at most `most` stages, none before what it reads: cuts of the list of operators, or
/// any assignment that the edges allow. Returns how many stages there are.
inline int random_stages(const ts::graph_view& g, ts::strategy& s, int most, random& pick) {
    const bool any = pick(3) == 0;
    std::vector<int> stage(ts::to_size(g.op_count), 0);
    int last = 0;
    for (int op = 0; op < g.op_count; ++op) {
        int own = any ? 0 : last;
        for (int t : g.ops[op].inputs) {
            const int producer = g.tensors[t].producer;
            own = producer >= 0 ? std::max(own, stage[ts::to_size(producer)]) : own;
        }
        own = std::min(own + (pick(3) == 0 ? 1 : 0), most - 1);
        stage[ts::to_size(op)] = own;
        last = std::max(last, own);
    }
    std::vector<int> number(ts::to_size(last) + 1, -1); // without gaps
    int stages = 0;
    for (int i = 0; i <= last; ++i) {
        bool used = false;
        for (int x : stage) {
            used = used || x == i;
        }
        number[ts::to_size(i)] = used ? stages++ : -1;
    }
    for (int op = 0; op < g.op_count; ++op) {
        const auto at = ts::to_size(op);
        s.ops[at].stage = number[ts::to_size(stage[at])];
    }
    return stages;
}

/// A schedule that takes this many stages and micro-batches, by its name.
inline ts::pipeline_schedule random_schedule(int stages, int micro_batches, random& pick, std::string& name) {
    namespace schedule = ts::schedule;
    schedule::settings x;
    x.which = schedule::library_schedules[pick(static_cast<int>(std::size(schedule::library_schedules)))];
    const bool two_each = x.which == &schedule::interleaved_record || x.which == &schedule::zero_bubble_v_record;
    x.workers = two_each ? stages / 2 : stages;
    x.micro_batches = micro_batches;
    const int parts = 1 + pick(2);
    if (x.which == &schedule::gems_record) {
        x.options.set(schedule::parts_option.name, parts);
    }
    x.again = static_cast<schedule::rematerialize>(pick(3));
    if (!schedule::is_possible(x) || x.stages() != stages) {
        x.which = &schedule::one_forward_one_backward_record;
        x.options = {};
        x.workers = stages;
    }
    name = x.which->title;
    if (x.which == &schedule::gems_record && parts > 1) {
        name += " with parts";
    }
    return schedule::make(x);
}

/// A random legal strategy, cut into up to four stages and micro-batches as even as they come, with a random schedule
/// or none.
inline pipeline_case random_pipeline(const ts::graph_view& g, int devices, std::uint64_t seed, coverage& seen) {
    random pick{ts::op::mix(seed ^ 0x7e55e7aULL)};
    pipeline_case c;
    c.how = pick(4) == 0 ? ts::strategy(g) : random_strategy(g, devices, seed, seen);
    const int batch = static_cast<int>(g.tensors[0].extents[0]);
    c.stages = random_stages(g, c.how, 1 + pick(4), pick);
    c.how.micro_batches = 1 + pick(std::min(batch, 6));
    const int share = pick(3);
    for (ts::configuration& x : c.how.ops) {
        x.recompute = share == 0 || (share == 1 && pick(2) == 0);
        c.recomputed += x.recompute ? 1 : 0;
    }
    random waits{ts::op::mix(seed ^ 0x0ff10adULL)};
    const bool any = waits(5) == 0;
    for (ts::configuration& x : c.how.ops) {
        x.offload = any && waits(2) == 0;
    }
    if (pick(5) == 0) {
        c.schedule = "one after the other";
    } else {
        c.how.follow(random_schedule(c.stages, c.how.micro_batches, pick, c.schedule));
        if (c.schedule == ts::schedule::gpipe_record.title && pick(2) == 0) {
            c.how.statistics = ts::statistics_over::mini_batch;
        }
    }
    if (c.how.statistics == ts::statistics_over::micro_batch && pick(2) == 0) {
        c.how.statistics = ts::statistics_over::replica;
    }
    return c;
}

} // namespace test_support
