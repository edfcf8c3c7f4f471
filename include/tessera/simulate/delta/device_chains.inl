// SPDX-License-Identifier: Apache-2.0
// Bodies of device_chains.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/device_chains.hpp"

namespace tessera::simulation {

TESSERA_INLINE void device_chains::resize(std::size_t slots) {
    previous_.resize(slots, -1);
    next_.resize(slots, -1);
}

TESSERA_INLINE void device_chains::reset(int fragments) {
    last_.assign(to_size(fragments), {});
    for (std::vector<std::uint64_t>& bits : present_) {
        bits.assign(to_size(fragments) / 64 + 1, 0);
    }
    std::fill(head_.begin(), head_.end(), -1);
    std::fill(tail_.begin(), tail_.end(), -1);
    std::fill(work.begin(), work.end(), 0);
}

TESSERA_INLINE void device_chains::link(int fragment, const device_run& r, std::vector<int>& relinked) {
    const int left_fragment = last_before(r.device, fragment);
    int left = left_fragment < 0 ? -1 : last_on(left_fragment, r.device);
    const int right = left < 0 ? head_[to_size(r.device)] : next_[to_size(left)];
    for (int slot : r.slots) {
        join(r.device, left, slot);
        relinked.push_back(slot);
        left = slot;
    }
    join(r.device, left, right);
    if (right >= 0) {
        relinked.push_back(right);
    }
    work[to_size(r.device)] += r.work;
    present_[to_size(r.device)][to_size(fragment) / 64] |= std::uint64_t{1} << (static_cast<unsigned>(fragment) % 64U);
    last_[to_size(fragment)].push_back({r.device, r.slots.back()});
}

TESSERA_INLINE void device_chains::unlink(int fragment, const device_run& r, std::vector<int>& relinked) {
    const int right = next_[to_size(r.slots.back())];
    join(r.device, previous_[to_size(r.slots.front())], right);
    if (right >= 0) {
        relinked.push_back(right);
    }
    work[to_size(r.device)] -= r.work;
    present_[to_size(r.device)][to_size(fragment) / 64] &=
        ~(std::uint64_t{1} << (static_cast<unsigned>(fragment) % 64U));
    for (auto& entry : last_[to_size(fragment)]) {
        if (entry.device == r.device) {
            entry = last_[to_size(fragment)].back();
            last_[to_size(fragment)].pop_back();
            break;
        }
    }
}

TESSERA_INLINE void device_chains::join(int device, int left, int right) {
    if (left < 0) {
        head_[to_size(device)] = right;
    } else {
        next_[to_size(left)] = right;
    }
    if (right >= 0) {
        previous_[to_size(right)] = left;
    } else {
        tail_[to_size(device)] = left;
    }
}

TESSERA_INLINE int device_chains::last_before(int device, int fragment) const {
    const std::vector<std::uint64_t>& bits = present_[to_size(device)];
    const unsigned offset = static_cast<unsigned>(fragment) % 64U;
    std::size_t word = to_size(fragment) / 64;
    std::uint64_t left = bits[word] & ((std::uint64_t{1} << offset) - 1);
    while (left == 0) {
        if (word == 0) {
            return -1;
        }
        left = bits[--word];
    }
    return static_cast<int>(word) * 64 + 63 - std::countl_zero(left);
}

TESSERA_INLINE int device_chains::last_on(int fragment, int device) const {
    for (const last_slot& entry : last_[to_size(fragment)]) {
        if (entry.device == device) {
            return entry.slot;
        }
    }
    return -1;
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
