// SPDX-License-Identifier: Apache-2.0
// A step whose loss is not finite changes nothing on GPUs either, without the processor looking: every device counts
// such losses, the counts of all are added up on each device before anything changes there, and what changes parameters
// or running statistics reads the sum.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/plan/loss_rows.hpp"

#include <algorithm>

namespace tessera::cuda::detail {

class nonfinite_counter {
public:
    nonfinite_counter(plan& p, const graph_view& g)
        : p_(p), g_(g), own_(to_size(p.devices), -1), all_(to_size(p.devices), -1) {}

    /// Gives a training plan its counts, and the copies that add them up right behind the last loss. Running
    /// statistics, which come forward, move behind those. Throws tessera::error for a plan that changes a parameter
    /// before it knows all losses.
    void run();

private:
    /// A device that changes something, or takes part in the sum because it has a count, and on which not all is known
    /// already.
    bool needs_sum(int device, const std::vector<int>& counts) const;

    int add_count(int device, int part);

    task sum_of(const std::vector<int>& counts, int device, const task& loss) const;

    plan& p_;
    const graph_view g_;
    std::vector<int> own_; ///< of every device: the count of its losses, or -1
    std::vector<int> all_; ///< of all
};

} // namespace tessera::cuda::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/calls/nonfinite_counts.inl"
#endif

#include "tessera/base/end_header.inl"
