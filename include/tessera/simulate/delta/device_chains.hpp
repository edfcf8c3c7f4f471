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
        : work(at(devices), 0), head_(at(devices), -1), tail_(at(devices), -1), present_(at(devices)) {}

    void resize(std::size_t slots) {
        previous_.resize(slots, -1);
        next_.resize(slots, -1);
    }
    /// Forgets everything, for so many fragments.
    void reset(int fragments) {
        last_.assign(at(fragments), {});
        for (std::vector<std::uint64_t>& bits : present_) {
            bits.assign(at(fragments) / 64 + 1, 0);
        }
        std::fill(head_.begin(), head_.end(), -1);
        std::fill(tail_.begin(), tail_.end(), -1);
        std::fill(work.begin(), work.end(), 0);
    }
    int previous(int slot) const { return previous_[at(slot)]; }
    int next(int slot) const { return next_[at(slot)]; }
    /// The last on a device, or -1.
    int last(int device) const { return tail_[at(device)]; }

    /// Puts a fragment's run between those of the fragments before and after it. Slots whose predecessor is set are added to `relinked`.
    void link(int fragment, const device_run& r, std::vector<int>& relinked) {
        const int left_fragment = last_before(r.device, fragment);
        int left = left_fragment < 0 ? -1 : last_on(left_fragment, r.device);
        const int right = left < 0 ? head_[at(r.device)] : next_[at(left)];
        for (int slot : r.slots) {
            join(r.device, left, slot);
            relinked.push_back(slot);
            left = slot;
        }
        join(r.device, left, right);
        if (right >= 0) {
            relinked.push_back(right);
        }
        work[at(r.device)] += r.work;
        present_[at(r.device)][at(fragment) / 64] |= std::uint64_t{1} << (static_cast<unsigned>(fragment) % 64U);
        last_[at(fragment)].push_back({r.device, r.slots.back()});
    }
    void unlink(int fragment, const device_run& r, std::vector<int>& relinked) {
        const int right = next_[at(r.slots.back())];
        join(r.device, previous_[at(r.slots.front())], right);
        if (right >= 0) {
            relinked.push_back(right);
        }
        work[at(r.device)] -= r.work;
        present_[at(r.device)][at(fragment) / 64] &= ~(std::uint64_t{1} << (static_cast<unsigned>(fragment) % 64U));
        for (auto& entry : last_[at(fragment)]) {
            if (entry.device == r.device) {
                entry = last_[at(fragment)].back();
                last_[at(fragment)].pop_back();
                break;
            }
        }
    }

    std::vector<index_t> work; ///< ns that each device computes

private:
    struct last_slot {
        int device = 0;
        int slot = 0;
    };
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    void join(int device, int left, int right) {
        if (left < 0) {
            head_[at(device)] = right;
        } else {
            next_[at(left)] = right;
        }
        if (right >= 0) {
            previous_[at(right)] = left;
        } else {
            tail_[at(device)] = left;
        }
    }
    /// The last fragment before this one that has activities on the device, or -1.
    int last_before(int device, int fragment) const {
        const std::vector<std::uint64_t>& bits = present_[at(device)];
        const unsigned offset = static_cast<unsigned>(fragment) % 64U;
        std::size_t word = at(fragment) / 64;
        std::uint64_t left = bits[word] & ((std::uint64_t{1} << offset) - 1);
        while (left == 0) {
            if (word == 0) {
                return -1;
            }
            left = bits[--word];
        }
        return static_cast<int>(word) * 64 + 63 - std::countl_zero(left);
    }
    int last_on(int fragment, int device) const {
        for (const last_slot& entry : last_[at(fragment)]) {
            if (entry.device == device) {
                return entry.slot;
            }
        }
        return -1;
    }

    std::vector<int> head_;
    std::vector<int> tail_;
    std::vector<int> previous_;
    std::vector<int> next_;
    std::vector<std::vector<std::uint64_t>> present_; ///< by device: which fragments have activities there
    std::vector<std::vector<last_slot>> last_;        ///< by fragment
};

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
