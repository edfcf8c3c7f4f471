// SPDX-License-Identifier: Apache-2.0
// Bodies of rows.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/rows.hpp"

namespace tessera::cuda::kernels {

TESSERA_INLINE index_t share_rows(row_numbers& n) {
    constexpr index_t enough = 65536; // threads for any GPU
    const index_t rows = n.samples * n.plane;
    index_t& log = n.log_threads;
    for (log = n.plane > 1 ? 1 : 5; log < 8; ++log) {
        const index_t columns = n.columns >> log; // of a thread
        if (columns <= 4 || (columns <= 32 && rows << log >= enough)) {
            break;
        }
    }
    return (rows + (256 >> log) - 1) / (256 >> log);
}

} // namespace tessera::cuda::kernels

#include "tessera/base/end_header.inl"
