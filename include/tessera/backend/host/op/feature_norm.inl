// SPDX-License-Identifier: Apache-2.0
// Bodies of feature_norm.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/feature_norm.hpp"

namespace tessera::host::detail {

TESSERA_INLINE kernels::norm_work norm_work_of(const compute_call& c, double epsilon, bool centered) {
    const description& d = *c.d;
    const int out = d.output();
    const int gamma = d.find_operand(operand_kind::parameter, 0);
    const int beta = centered ? d.find_operand(operand_kind::parameter, 1) : -1;
    const int statistics = d.find_operand(operand_kind::intermediate);
    const shape x = region(d, out, c.ranges).extents();
    kernels::norm_work w;
    w.channels = static_cast<std::ptrdiff_t>(x[x.rank - 1]);
    w.rows = static_cast<std::ptrdiff_t>(x.volume()) / w.channels;
    w.count = static_cast<double>(d.operands[0].extents[x.rank - 1]);
    w.epsilon = epsilon;
    w.x = floats(c.value[0].data);
    w.y = floats(c.value[out].data);
    w.dy = floats(c.gradient[out].data);
    w.dx = floats(c.gradient[0].data);
    w.gamma = floats(c.value[gamma].data);
    w.dgamma = has(c.emits, gamma) ? floats(c.gradient[gamma].data) : nullptr;
    if (beta >= 0) {
        w.beta = floats(c.value[beta].data);
        w.dbeta = has(c.emits, beta) ? floats(c.gradient[beta].data) : nullptr;
    }
    auto* const values = static_cast<double*>(c.value[statistics].data);
    auto* const gradients = static_cast<double*>(c.gradient[statistics].data);
    w.emits_sums = has(c.emits, statistics);
    w.sums = values;
    w.squares = values != nullptr && centered ? values + w.rows : values;
    w.dsums = gradients;
    w.dsquares = gradients != nullptr && centered ? gradients + w.rows : gradients;
    return w;
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
