// SPDX-License-Identifier: Apache-2.0
// What tests of the host's kernels share: each of this machine's instruction sets in turn, and scratch with a guard.
#pragma once

#include "tessera/backend/host/kernels/instruction_set.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_support {

/// Runs `check` once for each instruction set up to the machine's.
template <class Check>
void on_every_instruction_set(Check&& check) {
    namespace k = tessera::host::kernels;
    const k::instruction_set best = k::detect_instruction_set();
    for (const auto set : {k::instruction_set::portable, k::instruction_set::avx2, k::instruction_set::avx512}) {
        if (set > best) {
            continue;
        }
        k::active_instruction_set() = set;
        CAPTURE(static_cast<int>(set));
        check();
    }
    k::active_instruction_set() = best;
}

/// Scratch of a kernel, full of NaN, with a guard behind it.
class scratch_memory {
public:
    /// An alignment of 1 leaves it as it comes, for kernels that align it themselves.
    explicit scratch_memory(std::size_t count, std::size_t alignment = 64) : bytes_(alignment + count + guard, 0xFF) {
        const std::size_t past = reinterpret_cast<std::uintptr_t>(bytes_.data()) % alignment;
        begin_ = past == 0 ? 0 : alignment - past;
        end_ = begin_ + count;
        std::fill_n(bytes_.data() + end_, guard, guard_byte);
    }
    void* get() { return bytes_.data() + begin_; }
    bool intact() const {
        const unsigned char* const end = bytes_.data() + end_;
        return std::all_of(end, end + guard, [](unsigned char b) { return b == guard_byte; });
    }

private:
    static constexpr std::size_t guard = 256;
    static constexpr unsigned char guard_byte = 0xA5;
    std::vector<unsigned char> bytes_;
    std::size_t begin_ = 0, end_ = 0;
};

} // namespace test_support
