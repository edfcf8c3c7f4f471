// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "vector.hpp"

/// Between plain [N][L] and sample-blocked [ceil(N/16)][L][16], L being C*H*W.
namespace tessera::host::kernels {

/// Plain rows, row_stride floats apart, into blocks; the samples that fill up the last block become zeros.
inline void to_blocked(const float* plain, float* blocked, std::ptrdiff_t samples, std::ptrdiff_t length,
                       std::ptrdiff_t row_stride) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::to_blocked(plain, blocked, samples, length, row_stride);
    case instruction_set::avx2:
        return avx2::to_blocked(plain, blocked, samples, length, row_stride);
    case instruction_set::portable:
        break;
    }
    return portable::to_blocked(plain, blocked, samples, length, row_stride);
}

/// Blocks into plain rows, row_stride floats apart; the samples that fill up the last block are dropped.
inline void to_plain(const float* blocked, float* plain, std::ptrdiff_t samples, std::ptrdiff_t length,
                     std::ptrdiff_t row_stride) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::to_plain(blocked, plain, samples, length, row_stride);
    case instruction_set::avx2:
        return avx2::to_plain(blocked, plain, samples, length, row_stride);
    case instruction_set::portable:
        break;
    }
    return portable::to_plain(blocked, plain, samples, length, row_stride);
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
