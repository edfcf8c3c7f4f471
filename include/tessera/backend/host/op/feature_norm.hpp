// SPDX-License-Identifier: Apache-2.0
// Layer norm and RMS norm on plain tiles: rows are the last dimension.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/kernels/row_norm.hpp"
#include "tessera/backend/host/op/row.hpp"

namespace tessera::host {

namespace detail {

/// The tiles of a call; `centered`: of a layer norm.
kernels::norm_work norm_work_of(const compute_call& c, double epsilon, bool centered);

} // namespace detail

/// Any nests of one of them, forward or backward; see op/layer_norm.hpp for what each one leaves to the next. An RMS
/// norm's are the same without the mean: nest 0 sums squares, and backward has the gradient of that sum.
/// `Attributes`: its options, with epsilon.
template <class Attributes, bool Centered>
class feature_norm_job : public job {
public:
    explicit feature_norm_job(const bound_call& b)
        : c_(b.call), work_(detail::norm_work_of(b.call, b.call.attributes.as<Attributes>().epsilon, Centered)) {}

    void run(const run_state&) override {
        if (is_forward(c_.what)) {
            kernels::norm_forward<Centered>(work_, c_.first_nest == 0, c_.last_nest == 1);
            return;
        }
        if (work_.dgamma != nullptr || work_.dbeta != nullptr || work_.emits_sums) {
            kernels::norm_backward_sums<Centered>(work_);
        }
        if (has(c_.emits, 0)) {
            kernels::norm_backward_input<Centered>(work_);
        }
    }

private:
    compute_call c_;
    kernels::norm_work work_;
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/feature_norm.inl"
#endif

#include "tessera/base/end_header.inl"
