// SPDX-License-Identifier: Apache-2.0
// Bodies of record.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/record.hpp"

namespace tessera::schedule {

TESSERA_INLINE pipeline_schedule make(const settings& x, const action_times& times) {
    if (x.which == nullptr) {
        throw error("tessera: a schedule is made of no record; say which");
    }
    require_options(*x.which, x.options, "schedule");
    pipeline_schedule s = x.which->make(x, times);
    keep_results(s, x.again);
    return s;
}

TESSERA_INLINE std::string to_text(const settings& x) {
    std::string s(x.which->title);
    s += ", " + std::to_string(x.workers) + (x.workers == 1 ? " worker, " : " workers, ");
    s += std::to_string(x.micro_batches) + (x.micro_batches == 1 ? " micro-batch" : " micro-batches");
    s += x.which->details != nullptr ? x.which->details(x) : std::string();
    return s + (x.again == rematerialize::none  ? ""
                : x.again == rematerialize::all ? ", all recomputed"
                                                : ", all but the last recomputed");
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
