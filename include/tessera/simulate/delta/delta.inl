// SPDX-License-Identifier: Apache-2.0
// Bodies of delta.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/delta.hpp"

namespace tessera::simulation {

TESSERA_INLINE delta_simulation::delta_simulation(const graph_view& g, const cluster& on, const strategy& s,
                                                  const task_times& times, const lower_options& o)
    : on_(on), g_(g), times_(times), options_(o) {
    if (lowers_in_fragments(o) && lowers_in_fragments(s)) {
        delta_ = owned<incremental_simulation>(new incremental_simulation(on, g, s, times, o));
    } else {
        now_ = whole(s);
    }
}

TESSERA_INLINE index_t delta_simulation::moved_bytes() const {
    return delta_ ? delta_->lowered().moved_bytes() : (proposed_ ? next_ : now_).moved_bytes;
}

TESSERA_INLINE index_t delta_simulation::propose(const std::vector<change>& changes, index_t most) {
    if (delta_) {
        return delta_->propose(changes, most);
    }
    strategy s = now_.from;
    for (const change& x : changes) {
        apply(s, x);
    }
    next_ = whole(s);
    proposed_ = true;
    return next_.what.makespan > most ? INT64_MAX : next_.what.makespan;
}

TESSERA_INLINE index_t delta_simulation::propose(int op, const configuration& c, const std::vector<int>& devices) {
    return propose({place_on(op, c, devices)});
}

TESSERA_INLINE void delta_simulation::accept() {
    delta_ ? delta_->accept() : std::swap(now_, next_);
    proposed_ = false;
}

TESSERA_INLINE void delta_simulation::reject() {
    if (delta_) {
        delta_->reject();
    }
    proposed_ = false;
}

TESSERA_INLINE delta_simulation::simulated delta_simulation::whole(const strategy& s) const {
    const plan p = lower(g_, s.view(), on_.devices(), options_);
    return {s, simulate(g_, p, on_, times_), p.moved_bytes};
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
