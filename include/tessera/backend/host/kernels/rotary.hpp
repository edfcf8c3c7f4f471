// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "vector.hpp"

namespace tessera::host::kernels {

/// Turns pairs of channels by the angles of a table.
inline void turn_pairs(const rotary_work& w) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::turn_pairs(w);
    case instruction_set::avx2:
        return avx2::turn_pairs(w);
    case instruction_set::portable:
        break;
    }
    return portable::turn_pairs(w);
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
