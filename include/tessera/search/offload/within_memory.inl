// SPDX-License-Identifier: Apache-2.0
// Bodies of within_memory.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/offload/within_memory.hpp"

#include "tessera/strategy/recomputation.hpp"

#include <algorithm>

namespace tessera::search::detail {

TESSERA_INLINE bool waits_for_backward(const graph_view& g, int op) {
    const int tensor = g.ops[op].output;
    bool read = tessera::detail::is_kept_anyway(g, tensor);
    for (int k = op + 1; k < g.op_count && !read; ++k) {
        read = g.facts(k).view && g.ops[k].inputs[0] == tensor && waits_for_backward(g, k);
    }
    return read;
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE std::vector<int> outputs_to_offload(const graph_view& g, const strategy& s) {
    std::vector<int> all;
    for (int op = 0; op < g.op_count; ++op) {
        if (!g.is_loss(op) && !g.facts(op).view && !s.ops[to_size(op)].recompute && detail::waits_for_backward(g, op)) {
            all.push_back(op);
        }
    }
    return all;
}

} // namespace tessera::search

namespace tessera::search::detail {

/// As few outputs as make a strategy fit.
TESSERA_INLINE offload_found fewest_outputs(const graph_view& g, const cluster& on, const strategy& s,
                                            const offload_options& o, const std::vector<int>& candidates) {
    int simulated = 0;
    const auto with = [&](std::size_t count) {
        offload_found x;
        x.best = s;
        x.state = s.state_on_host;
        for (std::size_t i = 0; i < count; ++i) {
            x.best.ops[to_size(candidates[i])].offload = true;
        }
        const finished_step f = simulate_finished(g, on, x.best, o.times, o.lowering);
        x.step = f.makespan;
        x.bytes = *std::max_element(f.peak_bytes.begin(), f.peak_bytes.end());
        x.fits = o.memory > 0 ? x.bytes <= o.memory : f.fits;
        for (const configuration& c : x.best.ops) {
            x.operators += c.offload ? 1 : 0;
        }
        ++simulated;
        return x;
    };
    offload_found best = with(0);
    if (!best.fits && !candidates.empty()) {
        std::size_t low = 0; // does not fit
        std::size_t high = candidates.size();
        best = with(high);
        while (best.fits && high - low > 1) {
            const std::size_t middle = low + (high - low) / 2;
            const offload_found x = with(middle);
            if (x.fits) {
                best = x;
                high = middle;
            } else {
                low = middle;
            }
        }
    }
    best.simulated = simulated;
    return best;
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE offload_found offload_within(const graph_view& g, const cluster& on, const strategy& s,
                                            const offload_options& o) {
    const std::vector<int> outputs = o.what == offload_of::optimizer ? std::vector<int>() : outputs_to_offload(g, s);
    offload_found best = detail::fewest_outputs(g, on, s, o, outputs);
    const bool may =
        o.what == offload_of::optimizer || (o.what == offload_of::both && o.lowering.update.state_count() > 0);
    const bool wanted = !best.fits || best.operators > 0; // else there is nothing to gain
    if (may && wanted && !s.state_on_host) {
        strategy there = s;
        there.state_on_host = true;
        offload_found x = detail::fewest_outputs(g, on, there, o, outputs);
        x.simulated += best.simulated;
        const bool better = x.fits != best.fits ? x.fits : x.fits ? x.step < best.step : x.bytes < best.bytes;
        best.simulated = x.simulated;
        best = better ? x : best;
    }
    return best;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
