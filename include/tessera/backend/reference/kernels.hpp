// SPDX-License-Identifier: Apache-2.0
// The reference backend: every pass of every operator over one shard, in plain loops, read off the operator's
// description.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/op/table.hpp"

namespace tessera::reference {

namespace detail {

/// The shard's contribution to the gradient of operand `o`.
template <class Real>
void backward(const shard<Real>& s, const operator_row<Real>& row, int o) {
    const bool untouched = s.touched(o).empty();
    if (untouched && s.call.gradient[o].data == nullptr) {
        return; // another input of a concatenation, or padding alone: there is no tile
    }
    if (s.d.operands[o].type == element::f64) {
        s.template clear_gradient<double>(o);
    } else {
        s.clear_gradient(o);
    }
    if (!untouched) {
        row.backward(s, o);
    }
}

} // namespace detail

/// Does what the call asks for (see task/compute.hpp). Tensors described as f32 hold `Real`, so that double serves as
/// the oracle of tests and float runs the plans of the other backends; f64 and i32 tensors keep their types. Several
/// gradients in one call are produced in the order of the reversed nests. Updates are functions of their own
/// (update.hpp). Throws tessera::error where a tile that the call needs is missing or too small.
template <class Real>
void compute(const compute_call& call, const operator_row<Real>& row) {
    const detail::shard<Real> s(call);
    switch (call.what) {
    case pass::forward:
    case pass::recompute:
    case pass::evaluate:
        for (int k = call.first_nest; k <= call.last_nest; ++k) {
            row.forward(s, k);
        }
        return;
    case pass::backward:
    case pass::backward_input:
    case pass::backward_weight:
        for (int k = s.d.nests.size() - 1; k >= 0; --k) {
            for (int o = 0; o < s.d.operands.size(); ++o) {
                if (has(call.emits, o) && gradient_nest(s.d, o) == k) {
                    detail::backward(s, row, o);
                }
            }
        }
        return;
    case pass::update:
        break;
    }
    throw error("tessera: an update is not a pass over the nests of an operator; use reference::update");
}

/// The same by the operator's row. Throws tessera::error where it has none.
template <class Real>
void compute(const compute_call& call) {
    compute<Real>(call, row_for<Real>(record_of(call.attributes)));
}

/// Running statistics after a training step: (1 - momentum) * running + momentum * (mean, unbiased variance), over the
/// channels of `running`. `statistics` holds the sums of x and x^2 over `count` elements per channel of the global
/// batch.
template <class Real>
void update_running(const tile_view& statistics, const tile_view& running, index_t count, double momentum) {
    const double* const sums = static_cast<const double*>(statistics.data);
    Real* const to = static_cast<Real*>(running.data);
    const index_t from_apart = detail::stride_in(statistics.region, 0);
    const index_t to_apart = detail::stride_in(running.region, 0);
    const double n = static_cast<double>(count);
    for (index_t c = running.region.dim[1].begin; c < running.region.dim[1].end; ++c) {
        const double* const sum = sums + (c - statistics.region.dim[1].begin);
        Real* const at = to + (c - running.region.dim[1].begin);
        const double mean = sum[0] / n;
        const double biased = sum[from_apart] / n - mean * mean;
        const double variance = (biased < 0 ? 0 : biased) * (count > 1 ? n / (n - 1) : 1);
        at[0] = static_cast<Real>((1 - momentum) * static_cast<double>(at[0]) + momentum * mean);
        at[to_apart] = static_cast<Real>((1 - momentum) * static_cast<double>(at[to_apart]) + momentum * variance);
    }
}

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
