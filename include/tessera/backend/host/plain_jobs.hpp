// SPDX-License-Identifier: Apache-2.0
// Operators that no vendor primitive and no vector kernel covers, on plain tensors, through the loops of the reference backend.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/call.hpp"
#include "tessera/backend/reference/kernels.hpp"

namespace tessera::host {

class plain_job : public job {
public:
    plain_job(const bound_call& b, const reference::operator_row<float>& row) : call_(b.call), row_(&row) {}
    void run(const run_state& run) override {
        call_.run = &run;
        reference::compute<float>(call_, *row_);
    }
    const char* computed_by() const override { return "plain loops"; }

private:
    compute_call call_;
    const reference::operator_row<float>* row_;
};

/// Everything that a call touches, plain.
inline void add_plain_candidates(const compute_call& c, std::vector<candidate>& out) {
    candidate k;
    for (int o = 0; o < c.d->operands.size(); ++o) {
        k.value[o] = c.value[o].region.rank > 0 || c.value[o].data != nullptr ? format::plain : -1;
        k.gradient[o] = c.gradient[o].region.rank > 0 || c.gradient[o].data != nullptr ? format::plain : -1;
    }
    out.push_back(k);
}

inline owned<job> make_plain_job(const bound_call& b, const reference::operator_row<float>& row) {
    return owned<job>(new plain_job(b, row));
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
