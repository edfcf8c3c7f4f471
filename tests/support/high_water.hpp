// SPDX-License-Identifier: Apache-2.0
// How much of every device's arena a step really writes, found without the planner's tiles: arenas are filled with a
// pattern, a step runs, and what has changed is looked for from the end.
#pragma once

#include "tessera/execute/local/executor.hpp"
#include "tessera/schedule/schedules.hpp"
#include "tessera/search/pipeline.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace test_support {

namespace ts = tessera;

/// Bytes of every device's arena, and `beyond` it, up to the last one that a step writes. Two patterns, so that no
/// value that is written equals both.
template <class Session, class Step>
std::vector<ts::index_t> touched_bytes(const Session& s, Step&& step, ts::index_t beyond = 0) {
    const ts::plan& p = s.training_plan();
    std::vector<ts::index_t> top(p.arena_bytes.size(), 0);
    for (const int filled : {0xa5, 0x3c}) {
        const auto pattern = static_cast<unsigned char>(filled);
        const auto at = [&](std::size_t d) {
            return reinterpret_cast<unsigned char*>(s.training_executor().memory().arena(static_cast<int>(d)));
        };
        for (std::size_t d = 0; d < top.size(); ++d) {
            std::memset(at(d), pattern, ts::to_size(p.arena_bytes[d] + beyond));
        }
        step();
        for (std::size_t d = 0; d < top.size(); ++d) {
            ts::index_t last = p.arena_bytes[d] + beyond;
            while (last > top[d] && at(d)[last - 1] == pattern) {
                --last;
            }
            top[d] = last;
        }
    }
    return top;
}

/// Where a device's arena ends by its plan's tiles.
struct arena_end {
    ts::index_t written = 0; ///< the end of the last tile that a task writes to its end
    ts::index_t asked =
        0; ///< the end of the last scratch memory that a library has asked for and need not write to its end ...
    ts::index_t begin = 0; ///< ... and where that begins

    ts::index_t last() const { return written > asked ? written : asked; }
    /// True if a step that writes the arena up to `touched` writes what it should: to the end, or into what a library
    /// has asked for and no further.
    bool agrees(ts::index_t touched) const {
        return asked > written ? touched >= written && touched > begin && touched <= asked : touched == written;
    }
};

/// `is_asked_for(task)` says whether a task's scratch memory is one that a library has asked for.
template <class Asked>
arena_end end_of_arena(const ts::plan& p, int device, Asked&& is_asked_for) {
    arena_end end;
    const auto see = [&](int tile, bool asked) {
        const ts::tile& x = p.tiles[ts::to_size(p.root(tile))];
        const ts::index_t its = x.offset + x.bytes;
        if (x.device != device || ts::is_persistent(x.kind)) {
            return;
        }
        if (!asked) {
            end.written = its > end.written ? its : end.written;
        } else if (its >= end.asked) {
            end.begin = its == end.asked && end.begin < x.offset ? end.begin : x.offset;
            end.asked = its;
        }
    };
    for (const ts::task& t : p.tasks) {
        for (const int w : t.writes) {
            see(w, false);
        }
        if (t.scratch >= 0) {
            see(t.scratch, is_asked_for(t));
        }
    }
    return end;
}

/// A schedule by its name; `recompute`: every operator whose results the schedule does not keep computes them once
/// more.
struct scheduled {
    std::string name;
    ts::pipeline_schedule order;
    bool recompute = false;
};

/// Every schedule of the library's list that takes so many devices and micro-batches, those that mirror with two
/// micro-batches too (GEMS's MAST), and GPipe with re-materialization.
inline std::vector<scheduled> all_schedules(int devices, int micro_batches) {
    namespace schedule = ts::schedule;
    std::vector<scheduled> all;
    const auto add = [&](const schedule::schedule_record& r, int count, const std::string& more, bool again) {
        const schedule::settings x{&r, devices, count, {}, usual_rematerialization(r)};
        if (schedule::is_possible(x)) {
            all.push_back({std::string(r.title) + more, schedule::make(x), again});
        }
    };
    for (const schedule::schedule_record* r : schedule::library_schedules) {
        add(*r, micro_batches, "", false);
        if (r->mirrors) {
            add(*r, 2, ", 2 micro-batches", false);
        }
    }
    add(schedule::schedule_named("gpipe"), micro_batches, ", re-materialization", true);
    return all;
}

/// The pipeline of a network that follows a schedule, its stages balanced for a host's processors.
inline ts::strategy pipeline_of(const ts::graph_view& g, const scheduled& x, const ts::device_class& on) {
    const std::vector<int> stage = ts::schedule::balance_stages(ts::search::operator_times(g, on), x.order.stages);
    ts::strategy s = ts::search::pipeline(g, stage, x.order);
    for (ts::configuration& c : s.ops) {
        c.recompute = x.recompute;
    }
    return s;
}

} // namespace test_support
