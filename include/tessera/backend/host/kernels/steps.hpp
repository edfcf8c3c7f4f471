// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "vector.hpp"

namespace tessera::host::kernels {

/// places[to][i] = what of places[of[0]][i] and so on, for i below `count`, one step after the other. A step may write
/// what it reads.
inline void run_steps(const node_step* steps, int step_count, float* const* places, std::ptrdiff_t count) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::run_steps(steps, step_count, places, count);
    case instruction_set::avx2:
        return avx2::run_steps(steps, step_count, places, count);
    case instruction_set::portable:
        break;
    }
    return portable::run_steps(steps, step_count, places, count);
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
