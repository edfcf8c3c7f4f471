// SPDX-License-Identifier: Apache-2.0
// Every field that a strategy has, each with a change of it alone. A field that is added to one of the structs breaks
// its bindings here, and one that is not changed below fails the first test of tests/io/strategy_fields.cpp.
#pragma once

#include "tessera/schedule/gpipe.hpp"
#include "tessera/strategy/strategy.hpp"

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace test_support {

namespace ts = tessera;

struct changed_field {
    const char* owner;
    const char* name;
    void (*apply)(ts::strategy&);
};

/// How many fields each struct has.
inline std::map<std::string, std::size_t> field_counts() {
    const auto count = [](const auto&... fields) { return sizeof...(fields); };
    std::map<std::string, std::size_t> n;
    {
        const ts::strategy s;
        const auto& [a, b, c, d, e, f, g, h, i, j, k] = s;
        n["strategy"] = count(a, b, c, d, e, f, g, h, i, j, k);
    }
    {
        const ts::configuration s;
        const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = s;
        n["configuration"] = count(a, b, c, d, e, f, g, h, i, j, k, l, m);
    }
    {
        const ts::pipeline_schedule s;
        const auto& [a, b, c, d, e] = s;
        n["pipeline_schedule"] = count(a, b, c, d, e);
    }
    {
        const ts::action s;
        const auto& [a, b, c] = s;
        n["action"] = count(a, b, c);
    }
    {
        const ts::synchronization s;
        const auto& [a, b, c, d, e, f, g, h, i, j] = s;
        n["synchronization"] = count(a, b, c, d, e, f, g, h, i, j);
    }
    {
        const ts::message s;
        const auto& [a, b, c] = s;
        n["message"] = count(a, b, c);
    }
    {
        const ts::gradient_slice s;
        const auto& [a, b, c] = s;
        n["gradient_slice"] = count(a, b, c);
    }
    {
        const ts::strategy_view s;
        const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] =
            s; // ops and pool with their sizes, and the rest of a strategy
        n["strategy_view"] = count(a, b, c, d, e, f, g, h, i, j, k, l, m);
    }
    return n;
}

/// A strategy of a chain of at least two operators split by samples, in which everything that has fields of its own is
/// there.
inline ts::strategy with_everything(const ts::strategy& by_samples, int parameters) {
    ts::strategy s = by_samples;
    for (std::size_t op = 0; op < s.ops.size(); ++op) {
        s.ops[op].stage = 2 * op < s.ops.size() ? 0 : 1;
    }
    s.place(1, {0, 1});
    s.follow(ts::schedule::gpipe(2, 2));
    s.sync.messages = {{ts::exchange::all_reduce, 0, {{0, 0, 2}}}, {ts::exchange::sliced, 0, {{0, 1, 2}}}};
    for (int p = 1; p < parameters; ++p) { // messages hold all gradients
        s.sync.messages[1].slices.push_back({p, 0, 1});
    }
    return s;
}

inline const std::vector<changed_field>& changed_fields() {
    using s_t = ts::strategy;
    static const std::vector<changed_field> all{
        {"strategy", "ops", [](s_t& s) { s.ops[1].degree[0] = 1; }},
        {"strategy", "pool",
         [](s_t& s) {
             if (s.pool.empty()) {
                 s.pool.push_back(0);
             } else {
                 s.pool[0] = 2;
             }
         }},
        {"strategy", "micro_batches", [](s_t& s) { s.micro_batches += 1; }},
        {"strategy", "period", [](s_t& s) { s.steps_per_plan = 3; }},
        {"strategy", "schedule", [](s_t& s) { s.schedule = ts::schedule::gpipe(1, s.micro_batches); }},
        {"strategy", "statistics", [](s_t& s) { s.statistics = ts::statistics_over::mini_batch; }},
        {"strategy", "parameters_on", [](s_t& s) { s.parameters_on = 1; }},
        {"strategy", "overlap", [](s_t& s) { s.overlap = true; }},
        {"strategy", "sums_first", [](s_t& s) { s.sums_first = true; }},
        {"strategy", "state_on_host", [](s_t& s) { s.state_on_host = true; }},
        {"strategy", "sync", [](s_t& s) { s.sync.sum_at = ts::sync_time::after_backward; }},

        {"configuration", "degree", [](s_t& s) { s.ops[0].degree[0] = 1; }},
        {"configuration", "cuts", [](s_t& s) { s.cut(0, 0, {1}); }},
        {"configuration", "partial", [](s_t& s) { s.ops[0].partial = 2; }},
        {"configuration", "replicate", [](s_t& s) { s.ops[0].replicate = 2; }},
        {"configuration", "start", [](s_t& s) { s.ops[0].start = 1; }},
        {"configuration", "stride", [](s_t& s) { s.ops[0].stride = 2; }},
        {"configuration", "devices",
         [](s_t& s) {
             s.place(0, {1, 0});
         }},
        {"configuration", "uneven", [](s_t& s) { s.ops[0].uneven = true; }},
        {"configuration", "reduces", [](s_t& s) { s.ops[0].reduces = true; }},
        {"configuration", "stage", [](s_t& s) { s.ops[0].stage = 1; }},
        {"configuration", "recompute", [](s_t& s) { s.ops[0].recompute = true; }},
        {"configuration", "offload", [](s_t& s) { s.ops[0].offload = true; }},
        {"configuration", "ring", [](s_t& s) { s.ops[0].ring = true; }},

        {"pipeline_schedule", "stages", [](s_t& s) { s.schedule.stages += 1; }},
        {"pipeline_schedule", "micro_batches", [](s_t& s) { s.schedule.micro_batches += 1; }},
        {"pipeline_schedule", "workers", [](s_t& s) { std::swap(s.schedule.workers[1][2], s.schedule.workers[1][3]); }},
        {"pipeline_schedule", "mirrored",
         [](s_t& s) {
             s.schedule.mirrored = {1, 0};
         }},
        {"pipeline_schedule", "keeps",
         [](s_t& s) {
             s.schedule.keeps = {1, 0};
         }},

        {"action", "stage", [](s_t& s) { s.schedule.workers[0][0].stage = 1; }},
        {"action", "micro_batch", [](s_t& s) { s.schedule.workers[0][0].micro_batch = 1; }},
        {"action", "what", [](s_t& s) { s.schedule.workers[0][0].what = ts::action_kind::recompute; }},

        {"synchronization", "messages",
         [](s_t& s) {
             s.sync.messages.push_back({ts::exchange::sliced, 0, {{1, 0, 1}}});
         }},
        {"synchronization", "sum_at", [](s_t& s) { s.sync.sum_at = ts::sync_time::after_backward; }},
        {"synchronization", "update_at", [](s_t& s) { s.sync.update_at = ts::sync_time::after_backward; }},
        {"synchronization", "urgent_first", [](s_t& s) { s.sync.urgent_first = true; }},
        {"synchronization", "shards_parameters", [](s_t& s) { s.sync.shards_parameters = true; }},
        {"synchronization", "average_every", [](s_t& s) { s.sync.average_every = 2; }},
        {"synchronization", "compress", [](s_t& s) { s.sync.compress = ts::compression::one_bit; }},
        {"synchronization", "compress_block", [](s_t& s) { s.sync.compress_block = 64; }},
        {"synchronization", "keep_one_in", [](s_t& s) { s.sync.keep_one_in = 10; }},
        {"synchronization", "staleness", [](s_t& s) { s.sync.staleness = 2; }},

        {"message", "how", [](s_t& s) { s.sync.messages[0].method = ts::exchange::ring; }},
        {"message", "server", [](s_t& s) { s.sync.messages[0].server = 1; }},
        {"message", "slices",
         [](s_t& s) {
             s.sync.messages[0].slices.push_back({1, 0, 1});
         }},

        {"gradient_slice", "parameter", [](s_t& s) { s.sync.messages[0].slices[0].parameter = 1; }},
        {"gradient_slice", "slice", [](s_t& s) { s.sync.messages[0].slices[0].slice = 1; }},
        {"gradient_slice", "slices", [](s_t& s) { s.sync.messages[0].slices[0].slices = 4; }},
    };
    return all;
}

} // namespace test_support
