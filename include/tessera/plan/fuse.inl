// SPDX-License-Identifier: Apache-2.0
// Bodies of fuse.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/fuse.hpp"

namespace tessera {

TESSERA_INLINE std::size_t fused_network::tensors_made_before() const {
    std::size_t inputs = 0;
    for (const tensor_node& t : network.tensors) {
        inputs += t.producer < 0 ? 1 : 0;
    }
    return tensors.size() - inputs;
}

} // namespace tessera

namespace tessera::detail {

TESSERA_INLINE bool run_alike(const strategy& s, int a, int b) {
    const change x = change_of(s, a);
    const change y = change_of(s, b);
    bool same = x.what.partial == y.what.partial && x.what.replicate == y.what.replicate &&
                x.what.stage == y.what.stage && x.what.recompute == y.what.recompute &&
                x.what.offload == y.what.offload;
    for (int l = 0; l < max_loops && same; ++l) {
        same = x.what.degree[l] == y.what.degree[l] && (x.what.cuts[l] < 0) == (y.what.cuts[l] < 0);
        for (int i = 0; same && x.what.cuts[l] >= 0 && i + 1 < x.what.degree[l]; ++i) {
            same = x.pool[to_size(x.what.cuts[l] + i)] == y.pool[to_size(y.what.cuts[l] + i)];
        }
    }
    const auto device = [](const change& c, int i) {
        return c.what.devices >= 0 ? c.pool[to_size(c.what.devices + i)]
                                   : index_t{c.what.start} + index_t{c.what.stride} * i;
    };
    for (int i = 0; same && i < x.what.shards(); ++i) {
        same = device(x, i) == device(y, i);
    }
    return same;
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
