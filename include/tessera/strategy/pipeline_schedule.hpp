// SPDX-License-Identifier: Apache-2.0
// The order in which a pipeline does its work, as a value. The policies in schedule/ make such values; lowering follows
// them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/action_kind.hpp"
#include "tessera/strategy/described.hpp"

#include <cstdint>
#include <vector>

namespace tessera {

struct action {
    int stage = 0;
    int micro_batch = 0;
    action_kind what = action_kind::forward;
    friend constexpr bool operator==(const action& a, const action& b) { return same_fields(a, b); }

    template <class See>
    static constexpr void each_field(See&& see) {
        see("stage", &action::stage, {});
        see("micro_batch", &action::micro_batch, {});
        see("what", &action::what, {});
    }
};

/// For every worker of a pipeline (the devices of one or more stages) its actions in order. A micro-batch that is
/// mirrored runs on a second replica of the network, whose shards lie on device (devices - 1 - d) instead of d.
struct pipeline_schedule {
    int stages = 0; ///< 0: no schedule
    int micro_batches = 1;
    std::vector<std::vector<action>> workers;
    std::vector<char> mirrored; ///< of every micro-batch; empty: none is
    std::vector<char> keeps;    ///< micro-batches whose results are kept although operators recompute; empty: none

    constexpr bool is_mirrored(int micro_batch) const {
        return !mirrored.empty() && mirrored[static_cast<std::size_t>(micro_batch)] != 0;
    }
    constexpr bool keeps_results(int micro_batch) const {
        return !keeps.empty() && keeps[static_cast<std::size_t>(micro_batch)] != 0;
    }
    friend bool operator==(const pipeline_schedule& a, const pipeline_schedule& b) { return same_fields(a, b); }

    template <class See>
    static constexpr void each_field(See&& see) {
        using s = pipeline_schedule;
        see("stages", &s::stages, {.least = 1, .always = true});
        see("micro_batches", &s::micro_batches, {.least = 1, .implied = true}); // the strategy's
        see("workers", &s::workers, {});
        see("mirrored", &s::mirrored, {});
        see("keeps", &s::keeps, {});
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
