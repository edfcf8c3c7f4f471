// SPDX-License-Identifier: Apache-2.0
// Bodies of network_hash.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/network_hash.hpp"

namespace tessera {

TESSERA_INLINE std::uint64_t network_hash(const graph_view& g) {
    std::uint64_t h = 0x6a09e667f3bcc908ULL;
    const auto add = [&](std::uint64_t x) { h = op::mix(h ^ x); };
    const auto add_number = [&](index_t x) { add(static_cast<std::uint64_t>(x)); };
    const auto add_text = [&](std::string_view text) {
        add(text.size());
        for (const char c : text) {
            add(static_cast<unsigned char>(c));
        }
    };
    const auto add_extents = [&](const shape& s, int first) {
        add_number(s.rank);
        for (int d = first; d < s.rank; ++d) {
            add_number(s.extent[d]);
        }
    };
    for (int t = 0; t < g.tensor_count; ++t) {
        add_extents(g.tensors[t].extents, 1); // the first is that of samples
        add_number(static_cast<index_t>(g.tensors[t].type));
        add_number(g.tensors[t].producer);
    }
    const network_paths paths = paths_of(g);
    for (int p = 0; p < g.parameter_count; ++p) {
        add_text(paths.parameter(p));
        add_extents(g.parameters[p].extents, 0);
        add_number(g.parameters[p].trained ? 1 : 0);
    }
    for (int i = 0; i < g.op_count; ++i) {
        const op_node& o = g.ops[i];
        add_text(record_of(o.attributes).name);
        add_number(static_cast<index_t>(o.attributes.math));
        add(std::bit_cast<std::uint64_t>(o.attributes.weight));
        for (int k = 0; k < max_attributes; ++k) {
            if (o.attributes.own[k] != 0) { // zeros are defaults
                add_number(k);
                add_number(o.attributes.own[k]);
            }
        }
        for (const int x : o.inputs) {
            add_number(x);
        }
        for (const int p : o.parameters) {
            add_number(p);
        }
        add_number(o.output);
    }
    return h;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
