// SPDX-License-Identifier: Apache-2.0
// Matrix products with a weight: by oneDNN, and in blocks of 16 samples by kernels of our own.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/candidates.hpp"
#include "tessera/backend/host/kernels/linear_n16.hpp"
#include "tessera/backend/host/op/product.hpp"
#include "tessera/op/linear.hpp"

namespace tessera::host {

namespace detail {

inline kernels::linear_shape linear_shape_of(const compute_call& c) {
    const shape x = region(*c.d, c.d->find_operand(operand_kind::input), c.ranges).extents();
    const shape y = region(*c.d, c.d->output(), c.ranges).extents();
    return {blocks_of(x[0]), to_int(x[1]), to_int(y[1])};
}

struct linear_kernels {
    using shape_type = kernels::linear_shape;
    static shape_type shape_of(const compute_call& c) { return linear_shape_of(c); }
    static index_t scratch(const compute_call& c) {
        return c.what == pass::backward_weight
                   ? static_cast<index_t>(kernels::linear_backward_weights_scratch(linear_shape_of(c)))
                   : 0;
    }
    static void forward(const float* x, const float* w, const float* b, float* y, const shape_type& s, void*) {
        kernels::linear_forward(x, w, b, y, s, false);
    }
    static void input_gradient(const float* dy, const float* w, float* dx, const shape_type& s, void*) {
        kernels::linear_backward_data(dy, w, dx, s);
    }
    static void weight_gradient(const float* x, const float* dy, float* dw, float* db, const shape_type& s,
                                void* scratch) {
        kernels::linear_backward_weights(x, dy, dw, db, s, false, scratch);
    }
};

} // namespace detail

/// A matrix product by oneDNN, which takes the positions of sequences for samples.
class onednn_inner_product {
public:
    static constexpr const char* name = "oneDNN inner product";

    onednn_inner_product(const compute_call&, engine_kind) {}

    static shape extents(const compute_call& c, int o) {
        const shape s = detail::extents_of(c, o);
        return s.rank == 3 ? make_shape(s[0] * s[1], s[2]) : s;
    }
    static index_t groups(const compute_call&) { return 1; }
    auto make(const primitive_descs& make, const tensor_desc& x, const tensor_desc& w, const tensor_desc* bias,
              const tensor_desc& y) const {
        return make.inner_product(x, w, bias, y);
    }
};

using linear_job = weighted_job<detail::linear_kernels>;

namespace detail {

inline void add_linear_candidates(const compute_call& c, format_table& table, std::vector<candidate>& out) {
    for (const bool plain_weights : {false, true}) {
        add_product_candidate<onednn_inner_product>(c, engine_kind::onednn, {format::plain, format::plain},
                                                    plain_weights, table, out);
    }
    if (c.d->operands[0].extents.rank == 2) {
        add_in_samples<linear_job>(c, out);
    }
}

inline double linear_effort(const compute_call& c, const candidate& k, double flops) {
    const bool narrow = extents_of(c, c.d->find_operand(operand_kind::parameter, 0)).volume() < 100000;
    return product_effort(c, k, flops, narrow);
}

} // namespace detail

inline constexpr row_list linear_rows{
    row<op::linear_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_linear_candidates,
            .make_job = [](const bound_call& b, const format_table& table, dnnl_stream_t stream) -> owned<job> {
                if (b.how.engine == engine_kind::vectors) {
                    return owned<job>(new linear_job(b));
                }
                return owned<job>(new product_job<onednn_inner_product>(b, table, stream));
            },
            .forward = "oneDNN inner product, own kernel",
            .backward = "oneDNN inner product, own kernel",
            .why = "vectors of 16 samples are faster where weights are few",
            .effort = detail::linear_effort,
            .check = first_use::sum_of_products,
        };
    }),
};

} // namespace tessera::host

#include "tessera/base/end_header.inl"
