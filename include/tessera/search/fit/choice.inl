// SPDX-License-Identifier: Apache-2.0
// Bodies of choice.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/fit/choice.hpp"

namespace tessera::search {

TESSERA_INLINE int fit_choice::members() const {
    int most = 1;
    for (const int w : widths) {
        most = w > most ? w : most;
    }
    return most * (order.mirrors() ? 2 : 1);
}

TESSERA_INLINE int fit_choice::devices() const {
    int n = 0;
    for (const int w : widths) {
        n += w;
    }
    return n;
}

TESSERA_INLINE std::string to_text(const graph_view& g, const fit_choice& x) {
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
            const auto at = to_size(op);
            if (x.stage[at] != x.stage[at - 1]) {
                s.append(1, ' ').append(path_of(g, op));
            }
        }
    }
    s += x.policy == nullptr ? "" : ", " + std::string(x.policy->title);
    return x.overlap ? s + ", overlapped" : s;
}

TESSERA_INLINE strategy strategy_of(const graph_view& g, const fit_choice& x, const fit_options& o,
                                    const schedule::action_times& times, const schedule::worker_speed& speed) {
    strategy s;
    if (x.order.workers > 1) {
        s = pipeline(g, x.stage, schedule::make(x.order, times),
                     {.widths = x.widths, .inside = x.inside, .again = x.order.again});
    } else {
        s = strategy(g);
        for (int op = 0; op < g.op_count; ++op) {
            configuration& c = s.ops[to_size(op)];
            c = baseline_configuration(g, op, x.widths[0], x.inside[0]);
            c.uneven = true;
            c.recompute = x.order.again != schedule::rematerialize::none;
        }
        s.micro_batches = x.order.micro_batches;
    }
    s.statistics = o.statistics;
    s.overlap = x.overlap;
    s.steps_per_plan = o.steps_per_plan;
    if (x.policy != nullptr) {
        s.sync = synchronization_of(g, x.members(), speed, *x.policy, o.options);
    }
    return s;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
