// SPDX-License-Identifier: Apache-2.0
// Convolutions: by oneDNN, and in blocks of 16 samples by kernels of our own.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/candidates.hpp"
#include "tessera/backend/host/kernels/conv_gradient_n16.hpp"
#include "tessera/backend/host/kernels/conv_n16.hpp"
#include "tessera/backend/host/op/product.hpp"
#include "tessera/op/conv3d.hpp"

namespace tessera::host {

namespace detail {

kernels::conv_shape conv_shape_of(const compute_call& c);

struct conv_kernels {
    using shape_type = kernels::conv_shape;
    static shape_type shape_of(const compute_call& c) { return conv_shape_of(c); }
    static index_t scratch(const compute_call& c);
    static void forward(const float* x, const float* w, const float* b, float* y, const shape_type& s, void* scratch);
    static void input_gradient(const float* dy, const float* w, float* dx, const shape_type& s, void* scratch);
    static void weight_gradient(const float* x, const float* dy, float* dw, float* db, const shape_type& s,
                                void* scratch);
};

} // namespace detail

/// A convolution by oneDNN, of images or of volumes.
class onednn_convolution {
public:
    static constexpr const char* name = "oneDNN convolution";

    onednn_convolution(const compute_call& c, engine_kind engine);

    static shape extents(const compute_call& c, int o) { return detail::extents_of(c, o); }
    static index_t groups(const compute_call& c);
    auto make(const primitive_descs& make, const tensor_desc& x, const tensor_desc& w, const tensor_desc* bias,
              const tensor_desc& y) const {
        return make.convolution(how_, x, w, bias, y, steps_);
    }

private:
    window_steps steps_;
    dnnl_alg_kind_t how_;
};

using conv_job = weighted_job<detail::conv_kernels>;

namespace detail {

/// Of what Winograd's algorithm takes. With padding on one side only (a shard that ends inside the image) its input
/// gradients come out wrong in oneDNN 2.6.
bool is_small_window(const compute_call& c);

/// Every way that oneDNN has, whether it is right or not.
void add_all_onednn_convolutions(const compute_call& c, format_table& table, std::vector<candidate>& out);

/// Whether the window, along one of its dimensions, lies over the beginning of the input and over its end: in one
/// output, or in two neighbours of which the first is by less than a stride over the beginning.
bool leaves_both_ends(const local_window& g, int d);

/// oneDNN 2.6 (and not 3.2): its reorder jit:uni out of weights in blocks of 32, 48 or 64 outputs, OIhw as Acdb32a
/// (brgconv's), does not write most outputs where these (of a group) do not fill a block, and the window has 6,160
/// elements or more, a multiple of 16: in 189 of 6,734 shapes.
bool is_reordered_wrong(const compute_call& c, const candidate& k, const local_window& g);

/// Whether gradients of weights by oneDNN's own loops (2.6 and 3.2, jit:avx512_core; not by its gemm) may be wrong:
/// they then read and write past their memory. Along the depth of volumes that is where windows leave both ends of
/// the input, and of images where the window has more rows than 23: with 14 columns or more and an output one column
/// wide, or where it leaves both ends. Sweeps of windows of up to 16 rows have found nothing.
bool has_wrong_loops(const compute_call& c, const local_window& g);

/// Whether a way of oneDNN's is one that sweeps have found no fault with (tests/fuzz/fuzz_windows.cpp, and small
/// windows one by one). What they have not seen is left to the check at a shape's first use (choose/sampled.hpp).
bool is_proved(const compute_call& c, const candidate& k, const format_table& table);

void add_onednn_convolutions(const compute_call& c, format_table& table, std::vector<candidate>& out);

void add_conv_candidates(const compute_call& c, format_table& table, std::vector<candidate>& out);

/// Nothing plain if avoidable; Winograd's algorithm multiplies less.
double conv_effort(const compute_call& c, const candidate& k, double flops);

std::string conv_problem(const compute_call& c);

} // namespace detail

inline constexpr row_list convolution_rows{
    row<op::conv2d_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_conv_candidates,
            .make_job = [](const bound_call& b, const format_table& table, dnnl_stream_t stream) -> owned<job> {
                if (b.how.engine == engine_kind::vectors) {
                    return owned<job>(new conv_job(b));
                }
                return owned<job>(new product_job<onednn_convolution>(b, table, stream));
            },
            .forward = "oneDNN convolution, own kernel",
            .backward = "oneDNN convolution, own kernel",
            .why = "vectors of 16 samples are faster where channels are few",
            .problem = detail::conv_problem,
            .effort = detail::conv_effort,
            .check = first_use::sum_of_products,
        };
    }),
    row<op::conv3d_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_onednn_convolutions,
            .make_job = [](const bound_call& b, const format_table& table, dnnl_stream_t stream) -> owned<job> {
                return owned<job>(new product_job<onednn_convolution>(b, table, stream));
            },
            .forward = "oneDNN convolution",
            .backward = "oneDNN convolution",
            .problem = detail::conv_problem,
            .effort = detail::conv_effort,
            .check = first_use::sum_of_products,
        };
    }),
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/convolution.inl"
#endif

#include "tessera/base/end_header.inl"
