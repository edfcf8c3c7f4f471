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

kernels::linear_shape linear_shape_of(const compute_call& c);

struct linear_kernels {
    using shape_type = kernels::linear_shape;
    static shape_type shape_of(const compute_call& c) { return linear_shape_of(c); }
    static index_t scratch(const compute_call& c);
    static void forward(const float* x, const float* w, const float* b, float* y, const shape_type& s, void*);
    static void input_gradient(const float* dy, const float* w, float* dx, const shape_type& s, void*);
    static void weight_gradient(const float* x, const float* dy, float* dw, float* db, const shape_type& s,
                                void* scratch);
};

} // namespace detail

/// A matrix product by oneDNN, which takes the positions of sequences for samples.
class onednn_inner_product {
public:
    static constexpr const char* name = "oneDNN inner product";

    onednn_inner_product(const compute_call&, engine_kind) {}

    static shape extents(const compute_call& c, int o);
    static index_t groups(const compute_call&) { return 1; }
    auto make(const primitive_descs& make, const tensor_desc& x, const tensor_desc& w, const tensor_desc* bias,
              const tensor_desc& y) const {
        return make.inner_product(x, w, bias, y);
    }
};

using linear_job = weighted_job<detail::linear_kernels>;

namespace detail {

void add_linear_candidates(const compute_call& c, format_table& table, std::vector<candidate>& out);

double linear_effort(const compute_call& c, const candidate& k, double flops);

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

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/linear.inl"
#endif

#include "tessera/base/end_header.inl"
