// SPDX-License-Identifier: Apache-2.0
// The order of activities on every device, as chains into which fragments are linked and from which they are taken.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace tessera::simulation {

/// The activities of one fragment on one device, which follow each other there.
struct device_run {
    int device = 0;
    index_t work = 0; ///< ns
    std::vector<int> slots;
};

class device_chains {
public:
    explicit device_chains(int devices)
        : work(to_size(devices), 0), head_(to_size(devices), -1), tail_(to_size(devices), -1),
          present_(to_size(devices)) {}

    void resize(std::size_t slots);
    /// Forgets everything, for so many fragments.
    void reset(int fragments);
    int previous(int slot) const { return previous_[to_size(slot)]; }
    int next(int slot) const { return next_[to_size(slot)]; }
    /// The last on a device, or -1.
    int last(int device) const { return tail_[to_size(device)]; }

    /// Puts a fragment's run between those of the fragments before and after it. Slots whose predecessor is set are
    /// added to `relinked`.
    void link(int fragment, const device_run& r, std::vector<int>& relinked);
    void unlink(int fragment, const device_run& r, std::vector<int>& relinked);

    std::vector<index_t> work; ///< ns that each device computes

private:
    struct last_slot {
        int device = 0;
        int slot = 0;
    };

    void join(int device, int left, int right);
    /// The last fragment before this one that has activities on the device, or -1.
    int last_before(int device, int fragment) const;
    int last_on(int fragment, int device) const;

    std::vector<int> head_;
    std::vector<int> tail_;
    std::vector<int> previous_;
    std::vector<int> next_;
    std::vector<std::vector<std::uint64_t>> present_; ///< by device: which fragments have activities there
    std::vector<std::vector<last_slot>> last_;        ///< by fragment
};

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/delta/device_chains.inl"
#endif

#include "tessera/base/end_header.inl"
