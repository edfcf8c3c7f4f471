// SPDX-License-Identifier: Apache-2.0
// What an operator's shards compute at least, known from its configuration alone: a change that overloads a device is
// found out before anything is lowered.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/cluster.hpp"
#include "tessera/simulate/task_time.hpp"
#include "tessera/strategy/change.hpp"

#include <algorithm>

namespace tessera::simulation {

/// ns that a device computes at least.
struct device_work {
    int device = 0;
    index_t work = 0;
};

/// Bounds from below what the plan's compute tasks take by the roofline: their arithmetic, and one launch for each
/// shard. (Measured profiles have no such bound.)
class least_work {
public:
    least_work(const graph_view& g, const cost::roofline_efficiency& reached);

    /// ns of one shard, forward and backward.
    index_t time_of(int op, const shard& s, const device_class& on) const;

    /// Of every shard of an operator with a configuration.
    std::vector<device_work> of(const change& x, const cluster& on) const;

private:
    bool is_wanted(int op, const operand& x) const;

    graph_view g_;
    cost::roofline_efficiency reached_;
    std::vector<description> descriptions_;
    std::vector<char> needs_;   ///< tensors that need a gradient
    std::vector<char> reaches_; ///< operators that a loss depends on
};

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/delta/least_work.inl"
#endif

#include "tessera/base/end_header.inl"
