// SPDX-License-Identifier: Apache-2.0
// Bodies of batch.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/batch.hpp"

namespace tessera::detail {

TESSERA_INLINE void require_type(const tensor_node& t, element given) {
    if ((given == element::i32) != (t.type == element::i32)) {
        throw error("tessera: " + shown_input(t) + " takes " + (t.type == element::i32 ? "integers" : "numbers") +
                    " and is given " + (given == element::i32 ? "integers" : "numbers"));
    }
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
