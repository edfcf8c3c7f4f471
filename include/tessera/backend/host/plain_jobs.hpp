// SPDX-License-Identifier: Apache-2.0
// Operators that no vendor primitive and no vector kernel covers, on plain tensors, through the loops of the reference
// backend.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/call.hpp"
#include "tessera/backend/reference/kernels.hpp"

namespace tessera::host {

class plain_job : public job {
public:
    plain_job(const bound_call& b, const reference::operator_row<float>& row) : call_(b.call), row_(&row) {}
    void run(const run_state& run) override;
    const char* computed_by() const override { return "plain loops"; }

private:
    compute_call call_;
    const reference::operator_row<float>* row_;
};

/// Everything that a call touches, plain.
void add_plain_candidates(const compute_call& c, std::vector<candidate>& out);

owned<job> make_plain_job(const bound_call& b, const reference::operator_row<float>& row);

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/plain_jobs.inl"
#endif

#include "tessera/base/end_header.inl"
