// SPDX-License-Identifier: Apache-2.0
// What waits for the backward pass (sync_time::after_backward): for the last that each device from which it takes has
// computed.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/plan.hpp"

namespace tessera::detail {

/// The last that each device computes so far, by a number of the caller's.
class computed_so_far {
public:
    explicit computed_so_far(int devices) : last_(to_size(devices), -1) {}

    /// The next task in the plan's order.
    void pass(const task& t, int number);
    /// Calls `wait(number)` for each that a late task waits for, which takes `reads`.
    template <class Tiles, class Wait>
    void for_each_late(const Tiles& tiles, const task& t, const std::vector<int>& reads, Wait&& wait) const {
        for (std::size_t k = 0; t.late && k < reads.size(); ++k) {
            const int device = tiles[to_size(reads[k])].device;
            const int last = device < 0 ? -1 : last_[to_size(device)];
            if (last >= 0) {
                wait(last);
            }
        }
    }

private:
    std::vector<int> last_;
};

} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/plan/late_sums.inl"
#endif

#include "tessera/base/end_header.inl"
