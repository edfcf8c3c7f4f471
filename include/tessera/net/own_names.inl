// SPDX-License-Identifier: Apache-2.0
// Bodies of own_names.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/own_names.hpp"

namespace tessera {

TESSERA_INLINE void require_own_names(const graph_view& g) {
    for (int op = 0; op < g.op_count; ++op) {
        const op_record& r = record_of(g.ops[op].attributes);
        for (const op_record* const known : library_operators) {
            if (known != &r && same_operator(*known, r)) {
                throw error("tessera: " + path_of(g, op) + ": an operator of the library is called " + r.name +
                            ", and this is another; give it a name of its own: static constexpr const char* name = "
                            "\"...\"");
            }
        }
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
