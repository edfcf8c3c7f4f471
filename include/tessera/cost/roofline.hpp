// SPDX-License-Identifier: Apache-2.0
// How long a device computes by the roofline (Williams, Waterman and Patterson, CACM 52(4), 2009): the longer of its
// arithmetic and its memory traffic, each at the share of the peak that such operations reach.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/device_graph.hpp"
#include "tessera/op/attributes.hpp"

namespace tessera::cost {

/// Shares of the peaks that are reached, in per cent. Assumptions of ours, of the size that vendor libraries reach on
/// large operands: convolutions and matrix products at their device class's rate for them, everything else as a quarter
/// of the peak, which memory bounds before.
struct roofline_efficiency {
    int compute[work_kinds] = {60, 75, 25};
    int memory = 75;
};

/// What a task does.
struct work {
    work_kind kind = work_kind::elementwise;
    index_t flops = 0;
    index_t bytes = 0; ///< that it reads and writes of its own device's memory or, where tiles are remote, of theirs
    precision math = precision::fp32; ///< the rate of which counts
};

namespace detail {

[[noreturn]] void refuse_rates(const device_class& on, index_t rate, int compute, int memory);

} // namespace detail

/// Nanoseconds, at least 1: launch + max(flops / (rate for the kind in the precision * its share), bytes / (bandwidth *
/// its share)). Throws tessera::error where a rate or a share is not above 0.
constexpr index_t roofline_time(const work& w, const device_class& on, const roofline_efficiency& reached = {}) {
    const int k = static_cast<int>(w.kind);
    const index_t rate = on.rate(w.kind, w.math);
    if (rate < 1 || on.memory_megabytes < 1 || reached.compute[k] < 1 || reached.memory < 1) {
        detail::refuse_rates(on, rate, reached.compute[k], reached.memory);
    }
    const index_t arithmetic = w.flops * 100 / (rate * reached.compute[k]);
    const index_t traffic = w.bytes * 1000 * 100 / (on.memory_megabytes * reached.memory);
    const index_t time = on.launch + (arithmetic > traffic ? arithmetic : traffic);
    return time > 1 ? time : 1;
}

} // namespace tessera::cost

#ifndef TESSERA_COMPILED
#include "tessera/cost/roofline.inl"
#endif

#include "tessera/base/end_header.inl"
