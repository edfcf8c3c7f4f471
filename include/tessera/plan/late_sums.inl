// SPDX-License-Identifier: Apache-2.0
// Bodies of late_sums.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/late_sums.hpp"

namespace tessera::detail {

TESSERA_INLINE void computed_so_far::pass(const task& t, int number) {
    if (t.kind() == task_kind::compute) {
        last_[to_size(t.device)] = number;
    }
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
