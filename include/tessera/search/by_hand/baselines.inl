// SPDX-License-Identifier: Apache-2.0
// Bodies of baselines.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/by_hand/baselines.hpp"

namespace tessera::search {

TESSERA_INLINE strategy make_baseline(const graph_view& g, int devices, baseline which) {
    strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        s.ops[to_size(op)] = baseline_configuration(g, op, devices, which);
    }
    return s;
}

TESSERA_INLINE strategy data_parallel(const graph_view& g, int devices) {
    return make_baseline(g, devices, baseline::data_parallel);
}

TESSERA_INLINE strategy model_parallel(const graph_view& g, int devices) {
    return make_baseline(g, devices, baseline::model_parallel);
}

TESSERA_INLINE strategy one_weird_trick(const graph_view& g, int devices) {
    return make_baseline(g, devices, baseline::one_weird_trick);
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
