// SPDX-License-Identifier: Apache-2.0
// Bodies of pipeline.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/pipeline.hpp"

namespace tessera::schedule {

TESSERA_INLINE pipeline_schedule empty_schedule(int workers, int stages, int micro_batches) {
    require(check_pipeline(workers, stages, micro_batches));
    pipeline_schedule s;
    s.stages = stages;
    s.micro_batches = micro_batches;
    s.workers.resize(to_size(workers));
    return s;
}

TESSERA_INLINE void keep_results(pipeline_schedule& s, rematerialize which) {
    s.keeps.assign(to_size(s.micro_batches), which == rematerialize::none ? 1 : 0);
    if (which == rematerialize::except_last) {
        s.keeps.back() = 1;
    }
}

TESSERA_INLINE std::vector<int> workers_of_stages(const pipeline_schedule& s) {
    std::vector<int> result(to_size(s.stages < 0 ? 0 : s.stages), -1);
    const int workers = static_cast<int>(s.workers.size());
    for (int w = 0; w < workers; ++w) {
        for (const action& x : s.workers[to_size(w)]) {
            const int marked = s.mirrored.empty() ? s.micro_batches : static_cast<int>(s.mirrored.size());
            if (x.stage < 0 || x.stage >= s.stages) {
                require(tessera::detail::broken_action(rule::action_outside_schedule, x, x.stage, s.stages));
            }
            if (x.micro_batch < 0 || x.micro_batch >= marked) {
                require(tessera::detail::broken_action(rule::action_outside_schedule, x, x.micro_batch, marked));
            }
            result[to_size(x.stage)] = s.is_mirrored(x.micro_batch) ? workers - 1 - w : w;
        }
    }
    return result;
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
