// SPDX-License-Identifier: Apache-2.0
// Bodies of task.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/task.hpp"

namespace tessera {

TESSERA_INLINE task::task(task_kind kind) { become(kind); }

TESSERA_INLINE void task::become(task_kind kind) {
    kind_ = kind;
    switch (kind) {
    case task_kind::compute:
        hold<compute_fields>();
        break;
    case task_kind::copy:
        hold<copy_fields>();
        break;
    case task_kind::reduce:
    case task_kind::update:
    case task_kind::gather:
    case task_kind::average:
    case task_kind::norm:
    case task_kind::compress:
    case task_kind::decompress:
        hold<parameter_fields>();
        break;
    case task_kind::reorder:
    case task_kind::sum:
        hold<no_fields>();
        break;
    }
}

TESSERA_INLINE void replace_tile(task& t, int from, int to) {
    for_each_tile(t, [&](int& tile, const plan_field&) { tile = tile == from ? to : tile; });
}

} // namespace tessera

#include "tessera/base/end_header.inl"
