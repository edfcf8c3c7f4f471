// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "vector.hpp"

/// Kernels of loop nests.
namespace tessera::host::kernels {

/// `count` points of a pass along its innermost loop. `from`: for each leaf (leaves_of) its numbers, or one where it
/// does not change along the loop. By use_of(): to[i] is set, added to or made the larger; or the sum or the maximum is
/// returned, and `to` is not used.
template <const nests::program& P, bool Backward, int K>
double run_nest(const float* const* from, float* to, std::ptrdiff_t count) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::run_nest<P, Backward, K>(from, to, count);
    case instruction_set::avx2:
        return avx2::run_nest<P, Backward, K>(from, to, count);
    case instruction_set::portable:
        break;
    }
    return portable::run_nest<P, Backward, K>(from, to, count);
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
