// SPDX-License-Identifier: Apache-2.0
// Bodies of plain_jobs.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/plain_jobs.hpp"

namespace tessera::host {

TESSERA_INLINE void plain_job::run(const run_state& run) {
    call_.run = &run;
    reference::compute<float>(call_, *row_);
}

TESSERA_INLINE void add_plain_candidates(const compute_call& c, std::vector<candidate>& out) {
    candidate k;
    for (int o = 0; o < c.d->operands.size(); ++o) {
        k.value[o] = c.value[o].region.rank > 0 || c.value[o].data != nullptr ? format::plain : -1;
        k.gradient[o] = c.gradient[o].region.rank > 0 || c.gradient[o].data != nullptr ? format::plain : -1;
    }
    out.push_back(k);
}

TESSERA_INLINE owned<job> make_plain_job(const bound_call& b, const reference::operator_row<float>& row) {
    return owned<job>(new plain_job(b, row));
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
