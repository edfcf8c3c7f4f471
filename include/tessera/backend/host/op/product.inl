// SPDX-License-Identifier: Apache-2.0
// Bodies of product.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/product.hpp"

namespace tessera::host::detail {

TESSERA_INLINE double product_effort(const compute_call& c, const candidate& k, double flops, bool narrow) {
    const index_t samples = region(*c.d, 0, c.ranges).dim[0].size();
    const double fill = static_cast<double>(padded_samples(samples)) / static_cast<double>(samples);
    if (k.engine == engine_kind::vectors) {
        return flops * ((narrow ? 1.0 : 1.6) * fill);
    }
    return flops * (narrow ? 2.0 : 1.0);
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
