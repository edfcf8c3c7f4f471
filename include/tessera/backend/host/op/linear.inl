// SPDX-License-Identifier: Apache-2.0
// Bodies of linear.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/linear.hpp"

namespace tessera::host::detail {

TESSERA_INLINE kernels::linear_shape linear_shape_of(const compute_call& c) {
    const shape x = region(*c.d, c.d->find_operand(operand_kind::input), c.ranges).extents();
    const shape y = region(*c.d, c.d->output(), c.ranges).extents();
    return {blocks_of(x[0]), to_int(x[1]), to_int(y[1])};
}

TESSERA_INLINE index_t linear_kernels::scratch(const compute_call& c) {
    return c.what == pass::backward_weight
               ? static_cast<index_t>(kernels::linear_backward_weights_scratch(linear_shape_of(c)))
               : 0;
}

TESSERA_INLINE void linear_kernels::forward(const float* x, const float* w, const float* b, float* y,
                                            const shape_type& s, void*) {
    kernels::linear_forward(x, w, b, y, s, false);
}

TESSERA_INLINE void linear_kernels::input_gradient(const float* dy, const float* w, float* dx, const shape_type& s,
                                                   void*) {
    kernels::linear_backward_data(dy, w, dx, s);
}

TESSERA_INLINE void linear_kernels::weight_gradient(const float* x, const float* dy, float* dw, float* db,
                                                    const shape_type& s, void* scratch) {
    kernels::linear_backward_weights(x, dy, dw, db, s, false, scratch);
}

} // namespace tessera::host::detail

namespace tessera::host {

TESSERA_INLINE shape onednn_inner_product::extents(const compute_call& c, int o) {
    const shape s = detail::extents_of(c, o);
    return s.rank == 3 ? make_shape(s[0] * s[1], s[2]) : s;
}

} // namespace tessera::host

namespace tessera::host::detail {

TESSERA_INLINE void add_linear_candidates(const compute_call& c, format_table& table, std::vector<candidate>& out) {
    for (const bool plain_weights : {false, true}) {
        add_product_candidate<onednn_inner_product>(c, engine_kind::onednn, {format::plain, format::plain},
                                                    plain_weights, table, out);
    }
    if (c.d->operands[0].extents.rank == 2) {
        add_in_samples<linear_job>(c, out);
    }
}

TESSERA_INLINE double linear_effort(const compute_call& c, const candidate& k, double flops) {
    const bool narrow = extents_of(c, c.d->find_operand(operand_kind::parameter, 0)).volume() < 100000;
    return product_effort(c, k, flops, narrow);
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
