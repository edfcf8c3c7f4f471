// SPDX-License-Identifier: Apache-2.0
// Jobs on blocks of 16 samples: convolution and matrix product, which share their weights over a block, and pooling.
#pragma once

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/kernels/conv_gradient_n16.hpp"
#include "tessera/backend/host/kernels/conv_n16.hpp"
#include "tessera/backend/host/kernels/limits.hpp"
#include "tessera/backend/host/kernels/linear_n16.hpp"
#include "tessera/backend/host/kernels/pool_n16.hpp"

namespace tessera::host {

namespace detail {

/// The largest int for what is larger: no kernel fits that (kernels/limits.hpp).
inline int to_int(index_t x) { return x > INT_MAX ? INT_MAX : static_cast<int>(x); }
inline int blocks_of(index_t samples) { return to_int((samples + 15) / 16); }

inline kernels::conv_shape conv_shape_of(const compute_call& c) {
    const local_window g(c);
    kernels::conv_shape s;
    s.blocks = blocks_of(g.x[0]);
    s.in_channels = to_int(g.x[1]);
    s.in_height = to_int(g.x[2]);
    s.in_width = to_int(g.x[3]);
    s.out_channels = to_int(g.y[1]);
    s.out_height = to_int(g.y[2]);
    s.out_width = to_int(g.y[3]);
    s.kernel_h = to_int(c.attributes.window[0]);
    s.kernel_w = to_int(c.attributes.window[1]);
    s.stride_h = to_int(c.attributes.stride[0]);
    s.stride_w = to_int(c.attributes.stride[1]);
    s.pad_top = to_int(g.pad_begin[0]);
    s.pad_left = to_int(g.pad_begin[1]);
    s.dilation_h = to_int(c.attributes.dilation[0]);
    s.dilation_w = to_int(c.attributes.dilation[1]);
    return s;
}

/// Of tiles in format `f`.
inline kernels::pool_shape pool_shape_of(const compute_call& c, int f) {
    const local_window g(c);
    kernels::pool_shape s;
    switch (f) {
    case format::samples16:
        s.planes = to_int((g.x[0] + 15) / 16 * g.x[1]);
        break;
    case format::channels16:
        s.planes = to_int(g.x[0] * ((g.x[1] + 15) / 16));
        break;
    case format::channels_last:
        s.planes = to_int(g.x[0]);
        s.lanes = to_int(g.x[1]);
        break;
    default:
        s.planes = to_int(g.x[0] * g.x[1]);
        s.lanes = 1;
        break;
    }
    s.in_height = to_int(g.x[2]);
    s.in_width = to_int(g.x[3]);
    s.out_height = to_int(g.y[2]);
    s.out_width = to_int(g.y[3]);
    s.window_h = to_int(c.attributes.window[0]);
    s.window_w = to_int(c.attributes.window[1]);
    s.stride_h = to_int(c.attributes.stride[0]);
    s.stride_w = to_int(c.attributes.stride[1]);
    s.pad_top = to_int(g.pad_begin[0]);
    s.pad_left = to_int(g.pad_begin[1]);
    return s;
}

inline kernels::linear_shape linear_shape_of(const compute_call& c) {
    const shape x = region(*c.d, c.d->find_operand(operand_kind::input), c.ranges).extents();
    const shape y = region(*c.d, c.d->output(), c.ranges).extents();
    return {blocks_of(x[0]), to_int(x[1]), to_int(y[1])};
}

struct conv_kernels {
    using shape_type = kernels::conv_shape;
    static shape_type shape_of(const compute_call& c) { return conv_shape_of(c); }
    static index_t scratch(const compute_call& c) {
        const shape_type s = conv_shape_of(c);
        return static_cast<index_t>(is_forward(c.what)               ? kernels::conv_forward_scratch(s)
                                    : c.what == pass::backward_input ? kernels::conv_backward_data_scratch(s)
                                                                     : kernels::conv_backward_weights_scratch(s));
    }
    static void forward(const float* x, const float* w, const float* b, float* y, const shape_type& s, void* scratch) {
        kernels::conv_forward(x, w, b, y, s, false, true, scratch);
    }
    static void input_gradient(const float* dy, const float* w, float* dx, const shape_type& s, void* scratch) {
        kernels::conv_backward_data(dy, w, dx, s, true, scratch);
    }
    static void weight_gradient(const float* x, const float* dy, float* dw, float* db, const shape_type& s,
                                void* scratch) {
        kernels::conv_backward_weights(x, dy, dw, db, s, false, scratch);
    }
};

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

namespace detail {

/// Throws tessera::error for a shape that a kernel cannot do: none is offered for it, so that the plan was not made here.
template <class Shape>
const Shape& fitting(const Shape& s, const compute_call& c) {
    if (!kernels::fits(s)) {
        throw error(std::string("tessera: a ") + to_text(c.attributes.kind) +
                    " is too large for the kernel that the plan names; bind the plan again");
    }
    return s;
}

} // namespace detail

/// An operator with a weight and perhaps a bias, in any pass.
template <class Kernels>
class weighted_job : public job {
public:
    explicit weighted_job(const bound_call& b) : b_(b), s_(detail::fitting(Kernels::shape_of(b.call), b.call)) {
        const description& d = *b.call.d;
        in_ = d.find_operand(operand_kind::input);
        weight_ = d.find_operand(operand_kind::parameter, 0);
        bias_ = d.find_operand(operand_kind::parameter, 1);
        out_ = d.output();
    }
    static bool fits(const compute_call& c) { return kernels::fits(Kernels::shape_of(c)); }
    static index_t scratch(const compute_call& c) { return Kernels::scratch(c); }
    void run(const run_state&) override {
        const compute_call& c = b_.call;
        using detail::floats;
        if (is_forward(c.what)) {
            const float* bias = bias_ >= 0 && c.first_part ? floats(c.value[bias_].data) : nullptr;
            Kernels::forward(floats(c.value[in_].data), floats(c.value[weight_].data), bias, floats(c.value[out_].data),
                             s_, b_.scratch);
        } else if (c.what == pass::backward_input) {
            Kernels::input_gradient(floats(c.gradient[out_].data), floats(c.value[weight_].data),
                                    floats(c.gradient[in_].data), s_, b_.scratch);
        } else {
            float* bias = bias_ >= 0 && has(c.emits, bias_) ? floats(c.gradient[bias_].data) : nullptr;
            Kernels::weight_gradient(floats(c.value[in_].data), floats(c.gradient[out_].data),
                                     floats(c.gradient[weight_].data), bias, s_, b_.scratch);
        }
    }

private:
    bound_call b_;
    typename Kernels::shape_type s_;
    int in_ = -1, weight_ = -1, bias_ = -1, out_ = -1;
};

using conv_job = weighted_job<detail::conv_kernels>;
using linear_job = weighted_job<detail::linear_kernels>;

/// Averages of blocks of samples, and maxima in any format. (oneDNN's maxima are no choice: they lose NaN and negative infinity.)
class pooling_job : public job {
public:
    explicit pooling_job(const bound_call& b) : b_(b) {
        in_ = b.call.d->find_operand(operand_kind::input);
        out_ = b.call.d->output();
        const int f = is_forward(b.call.what) ? b.how.value[out_] : b.how.gradient[out_];
        s_ = detail::fitting(detail::pool_shape_of(b.call, f), b.call);
    }
    static bool fits(const compute_call& c, int f) {
        return c.attributes.dilation[0] == 1 && c.attributes.dilation[1] == 1 &&
               kernels::fits(detail::pool_shape_of(c, f));
    }
    /// One byte for each output of a max pool: the winner.
    static index_t workspace(const compute_call& c, int f) {
        const kernels::pool_shape s = detail::pool_shape_of(c, f);
        const bool keeps = c.attributes.kind == op_kind::max_pool && c.what != pass::evaluate;
        return keeps ? index_t{s.planes} * s.out_height * s.out_width * s.lanes : 0;
    }
    void run(const run_state&) override {
        const compute_call& c = b_.call;
        using detail::floats;
        auto* winner = c.what == pass::evaluate ? nullptr : static_cast<std::uint8_t*>(b_.workspace);
        const bool is_max = c.attributes.kind == op_kind::max_pool;
        if (is_forward(c.what)) {
            if (is_max) {
                kernels::max_pool_forward(floats(c.value[in_].data), floats(c.value[out_].data), winner, s_, false);
            } else {
                kernels::average_pool_forward(floats(c.value[in_].data), floats(c.value[out_].data), s_,
                                              c.attributes.count_padding);
            }
        } else if (is_max) {
            kernels::max_pool_backward(floats(c.gradient[out_].data), winner, floats(c.gradient[in_].data), s_);
        } else {
            kernels::average_pool_backward(floats(c.gradient[out_].data), floats(c.gradient[in_].data), s_,
                                           c.attributes.count_padding);
        }
    }

private:
    bound_call b_;
    kernels::pool_shape s_;
    int in_ = -1, out_ = -1;
};

} // namespace tessera::host
