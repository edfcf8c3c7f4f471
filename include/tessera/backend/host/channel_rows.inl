// SPDX-License-Identifier: Apache-2.0
// Bodies of channel_rows.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"

namespace tessera::host::detail {

TESSERA_INLINE channel_rows::channel_rows(const shape& s, int f) {
    const index_t plane = s.volume() / (s[0] * s[1]);
    channels = s[1];
    if (f == format::samples16) {
        blocks = (s[0] + 15) / 16;
        length = plane * 16;
        lanes = 16;
        last_live = static_cast<int>(s[0] - (blocks - 1) * 16);
    } else if (f == format::channels_last) {
        blocks = s[0] * plane;
        length = 1;
    } else {
        blocks = s[0];
        length = plane;
    }
}

TESSERA_INLINE double channel_rows::sum_live(const double (&partial)[16], index_t block) const {
    const int count = lanes == 16 ? live(block) : 16;
    double total = 0;
    for (int k = 0; k < count; ++k) {
        total += partial[k];
    }
    return total;
}

TESSERA_INLINE void channel_rows::clear_rest(float* row, index_t block) const {
    for (index_t i = 0; live(block) < lanes && i < length; i += 16) {
        for (int k = live(block); k < 16; ++k) {
            row[i + k] = 0;
        }
    }
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
