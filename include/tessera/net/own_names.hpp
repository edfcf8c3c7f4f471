// SPDX-License-Identifier: Apache-2.0
// Names of operators of one's own, which no operator of the library may have.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/net/paths.hpp"
#include "tessera/op/library.hpp"

#include <string>

namespace tessera {

/// Throws tessera::error for an operator of one's own with the name of one of the library, for which backends and files, which know operators by their names,
/// would take it.
inline void require_own_names(const graph_view& g) {
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
