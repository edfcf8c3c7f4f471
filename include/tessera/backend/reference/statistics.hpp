// SPDX-License-Identifier: Apache-2.0
// Sums of x and of x^2, which normalizations take their means and variances from.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/shard.hpp"

namespace tessera::reference::detail {

template <class Real>
void sum_statistics(const shard<Real>& s) {
    const int x = s.input();
    const int to = s.intermediate(0);
    const Real* const px = s.value(x);
    double* const sums = s.template value<double>(to);
    const index_t apart = stride_in(s.call.value[to].region, 0);
    s.fill(to, 0.0);
    s.walk({s.value_at(x), s.value_at(to)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            const double value = static_cast<double>(px[r.at[0] + i * r.step[0]]);
            double* const sum = sums + r.at[1] + i * r.step[1];
            sum[0] += value;
            sum[apart] += value * value;
        }
    });
}

} // namespace tessera::reference::detail

#include "tessera/base/end_header.inl"
