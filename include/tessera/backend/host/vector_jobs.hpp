// SPDX-License-Identifier: Apache-2.0
// Jobs on kernels of our own: convolution, pooling, matrix product and loss on blocks of 16 samples, element-wise operators in any
// format whose elements all operands have in one order.
#pragma once

#include "tessera/backend/host/call.hpp"
#include "tessera/backend/host/kernels/conv_gradient_n16.hpp"
#include "tessera/backend/host/kernels/conv_n16.hpp"
#include "tessera/backend/host/kernels/elementwise.hpp"
#include "tessera/backend/host/kernels/linear_n16.hpp"
#include "tessera/backend/host/kernels/loss.hpp"
#include "tessera/backend/host/kernels/pool_n16.hpp"
#include "tessera/backend/host/kernels/reduce.hpp"
#include "tessera/backend/host/kernels/transpose_n16.hpp"
#include "tessera/backend/host/loss_jobs.hpp"
#include "tessera/backend/host/move_jobs.hpp"
#include "tessera/backend/host/norm_jobs.hpp"
#include "tessera/backend/host/norm_lane_jobs.hpp"

namespace tessera::host {

namespace detail {

inline int to_int(index_t x) { return static_cast<int>(x); }
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

inline kernels::pool_shape pool_shape_of(const compute_call& c) {
    const local_window g(c);
    kernels::pool_shape s;
    s.planes = blocks_of(g.x[0]) * to_int(g.x[1]);
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

/// A candidate on blocks of samples: activations in them, parameters plain.
inline candidate in_samples(const compute_call& c) {
    candidate k;
    k.engine = engine_kind::vectors;
    for (int o = 0; o < c.d->operands.size(); ++o) {
        const operand& x = c.d->operands[o];
        const bool activation = x.kind == operand_kind::input || x.kind == operand_kind::output;
        const int f = activation && x.type == element::f32 && x.extents.rank > 1 ? format::samples16 : format::plain;
        if (is_forward(c.what)) {
            k.value[o] = f;
        } else {
            k.gradient[o] = o == c.d->output() || has(c.emits, o) ? f : -1;
            bool read = false;
            for (int e = 0; e < c.d->operands.size(); ++e) {
                read = read || (has(c.emits, e) && has(c.d->operands[e].gradient_reads, o));
            }
            k.value[o] = read ? f : -1;
        }
    }
    return k;
}

} // namespace detail

class conv_job : public job {
public:
    explicit conv_job(const bound_call& b) : b_(b), s_(detail::conv_shape_of(b.call)) {
        const description& d = *b.call.d;
        in_ = d.find_operand(operand_kind::input);
        weight_ = d.find_operand(operand_kind::parameter, 0);
        bias_ = d.find_operand(operand_kind::parameter, 1);
        out_ = d.output();
    }
    static index_t scratch(const compute_call& c) {
        const kernels::conv_shape s = detail::conv_shape_of(c);
        return static_cast<index_t>(is_forward(c.what)               ? kernels::conv_forward_scratch(s)
                                    : c.what == pass::backward_input ? kernels::conv_backward_data_scratch(s)
                                                                     : kernels::conv_backward_weights_scratch(s));
    }
    void run(const run_state&) override {
        const compute_call& c = b_.call;
        using detail::floats;
        if (is_forward(c.what)) {
            const float* bias = bias_ >= 0 && c.first_part ? floats(c.value[bias_].data) : nullptr;
            kernels::conv_forward(floats(c.value[in_].data), floats(c.value[weight_].data), bias,
                                  floats(c.value[out_].data), s_, false, true, b_.scratch);
        } else if (c.what == pass::backward_input) {
            kernels::conv_backward_data(floats(c.gradient[out_].data), floats(c.value[weight_].data),
                                        floats(c.gradient[in_].data), s_, true, b_.scratch);
        } else {
            float* bias = bias_ >= 0 && has(c.emits, bias_) ? floats(c.gradient[bias_].data) : nullptr;
            kernels::conv_backward_weights(floats(c.value[in_].data), floats(c.gradient[out_].data),
                                           floats(c.gradient[weight_].data), bias, s_, false, b_.scratch);
        }
    }

private:
    bound_call b_;
    kernels::conv_shape s_;
    int in_ = -1, weight_ = -1, bias_ = -1, out_ = -1;
};

class linear_job : public job {
public:
    explicit linear_job(const bound_call& b) : b_(b), s_(detail::linear_shape_of(b.call)) {
        const description& d = *b.call.d;
        in_ = d.find_operand(operand_kind::input);
        weight_ = d.find_operand(operand_kind::parameter, 0);
        bias_ = d.find_operand(operand_kind::parameter, 1);
        out_ = d.output();
    }
    static index_t scratch(const compute_call& c) {
        return c.what == pass::backward_weight
                   ? static_cast<index_t>(kernels::linear_backward_weights_scratch(detail::linear_shape_of(c)))
                   : 0;
    }
    void run(const run_state&) override {
        const compute_call& c = b_.call;
        using detail::floats;
        if (is_forward(c.what)) {
            const float* bias = bias_ >= 0 && c.first_part ? floats(c.value[bias_].data) : nullptr;
            kernels::linear_forward(floats(c.value[in_].data), floats(c.value[weight_].data), bias,
                                    floats(c.value[out_].data), s_, false);
        } else if (c.what == pass::backward_input) {
            kernels::linear_backward_data(floats(c.gradient[out_].data), floats(c.value[weight_].data),
                                          floats(c.gradient[in_].data), s_);
        } else {
            float* bias = bias_ >= 0 && has(c.emits, bias_) ? floats(c.gradient[bias_].data) : nullptr;
            kernels::linear_backward_weights(floats(c.value[in_].data), floats(c.gradient[out_].data),
                                             floats(c.gradient[weight_].data), bias, s_, false, b_.scratch);
        }
    }

private:
    bound_call b_;
    kernels::linear_shape s_;
    int in_ = -1, weight_ = -1, bias_ = -1, out_ = -1;
};

class blocked_pool_job : public job {
public:
    explicit blocked_pool_job(const bound_call& b) : b_(b), s_(detail::pool_shape_of(b.call)) {
        in_ = b.call.d->find_operand(operand_kind::input);
        out_ = b.call.d->output();
    }
    /// One byte for each output of a max pool: the winner.
    static index_t workspace(const compute_call& c) {
        const kernels::pool_shape s = detail::pool_shape_of(c);
        const bool keeps = c.attributes.kind == op_kind::max_pool && c.what != pass::evaluate;
        return keeps ? index_t{s.planes} * s.out_height * s.out_width * 16 : 0;
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

/// Operators that do the same to every element, whatever the format: the number of stored elements is all they need to know.
class elementwise_job : public job {
public:
    elementwise_job(const bound_call& b, const format_table& table) : b_(b) {
        const description& d = *b.call.d;
        out_ = d.output();
        const int f = b.how.value[out_] >= 0 ? b.how.value[out_] : b.how.gradient[out_];
        count_ =
            static_cast<std::ptrdiff_t>(table.bytes(f, region(d, out_, b.call.ranges).extents(), element::f32) / 4);
    }
    void run(const run_state&) override {
        const compute_call& c = b_.call;
        using detail::floats;
        if (is_forward(c.what)) {
            forward(c);
            return;
        }
        const float* dy = floats(c.gradient[out_].data);
        const float* y = floats(c.value[out_].data);
        if (c.attributes.kind == op_kind::multiply) {
            for (int o = 0; o < 2; ++o) {
                if (has(c.emits, o)) {
                    const float* other = floats(c.value[1 - o].data);
                    float* dx = floats(c.gradient[o].data);
                    for (std::ptrdiff_t i = 0; i < count_; ++i) {
                        dx[i] = dy[i] * other[i];
                    }
                }
            }
            return;
        }
        if (c.attributes.kind == op_kind::add) {
            for (int o = 0; o < 2; ++o) {
                if (has(c.emits, o)) {
                    std::memcpy(c.gradient[o].data, dy, static_cast<std::size_t>(count_) * sizeof(float));
                }
            }
            return;
        }
        float* dx = floats(c.gradient[0].data);
        switch (c.attributes.kind) {
        case op_kind::relu:
            return kernels::relu_backward(y, dy, dx, count_);
        case op_kind::sigmoid:
            return kernels::sigmoid_backward(y, dy, dx, count_);
        case op_kind::tanh:
            return kernels::tanh_backward(y, dy, dx, count_);
        default:
            return kernels::gelu_backward(floats(c.value[0].data), dy, dx, count_);
        }
    }

private:
    void forward(const compute_call& c) {
        using detail::floats;
        const float* x = floats(c.value[0].data);
        float* y = floats(c.value[out_].data);
        switch (c.attributes.kind) {
        case op_kind::relu:
            return kernels::relu_forward(x, y, count_);
        case op_kind::sigmoid:
            return kernels::sigmoid_forward(x, y, count_);
        case op_kind::tanh:
            return kernels::tanh_forward(x, y, count_);
        case op_kind::gelu:
            return kernels::gelu_forward(x, y, count_);
        case op_kind::add:
            return kernels::add(x, floats(c.value[1].data), y, count_);
        default:
            break;
        }
        const float* z = floats(c.value[1].data);
        for (std::ptrdiff_t i = 0; i < count_; ++i) {
            y[i] = x[i] * z[i];
        }
    }

    bound_call b_;
    int out_ = -1;
    std::ptrdiff_t count_ = 0;
};

/// Softmax cross-entropy of whole rows, forward and backward recomputing the little that they share.
class loss_job : public job {
public:
    explicit loss_job(const bound_call& b) : b_(b) {
        const description& d = *b.call.d;
        logits_ = d.find_operand(operand_kind::input, 0);
        labels_ = d.find_operand(operand_kind::input, 1);
        out_ = d.output();
        const shape x = region(d, logits_, b.call.ranges).extents();
        rows_ = static_cast<std::ptrdiff_t>(x[0]);
        classes_ = static_cast<std::ptrdiff_t>(x[1]);
    }
    static index_t scratch(const compute_call& c) {
        return is_forward(c.what) ? 0 : (region(*c.d, 0, c.ranges).extents()[0] + 15) / 16 * 64;
    }
    void run(const run_state&) override {
        const compute_call& c = b_.call;
        using detail::floats;
        const bool forward = is_forward(c.what);
        const float* x = floats(c.value[logits_].data);
        const auto* labels = static_cast<const std::int32_t*>(c.value[labels_].data);
        float* losses = forward ? floats(c.value[out_].data) : floats(b_.scratch);
        float* dx = forward ? nullptr : floats(c.gradient[logits_].data);
        const auto scale = static_cast<float>(c.loss_scale);
        if (b_.how.value[logits_] == format::samples16) {
            kernels::cross_entropy_blocked(x, labels, losses, dx, rows_, classes_, scale);
        } else {
            kernels::cross_entropy_rows(x, labels, losses, dx, rows_, classes_, scale);
        }
    }

private:
    bound_call b_;
    int logits_ = -1, labels_ = -1, out_ = -1;
    std::ptrdiff_t rows_ = 0, classes_ = 0;
};

/// Ways to compute a call with kernels of our own.
inline void add_vector_candidates(const compute_call& c, std::vector<candidate>& out) {
    candidate k = detail::in_samples(c);
    const bool forward = is_forward(c.what);
    switch (c.attributes.kind) {
    case op_kind::conv2d:
        if (c.attributes.groups == 1) {
            k.scratch = conv_job::scratch(c);
            out.push_back(k);
        }
        return;
    case op_kind::linear:
        k.scratch = linear_job::scratch(c);
        out.push_back(k);
        return;
    case op_kind::max_pool:
    case op_kind::average_pool:
        if (c.attributes.dilation[0] == 1 && c.attributes.dilation[1] == 1 &&
            c.attributes.window[0] * c.attributes.window[1] <= 256) {
            k.workspace = blocked_pool_job::workspace(c);
            k.unused = forward ? 0 : bit(0);
            k.value[0] = forward ? k.value[0] : -1;
            out.push_back(k);
        }
        return;
    case op_kind::relu:
    case op_kind::sigmoid:
    case op_kind::tanh:
    case op_kind::gelu:
    case op_kind::add:
    case op_kind::multiply: {
        const bool images = c.d->operands[0].extents.rank == 4;
        for (const int f : {format::plain, format::channels_last, format::samples16, format::channels16}) {
            const bool blocked_zero = f == format::channels16 && c.attributes.kind == op_kind::sigmoid;
            if ((!images && (f == format::channels_last || f == format::channels16)) || blocked_zero) {
                continue; // the zeros that fill up blocks of channels must stay zeros
            }
            candidate e = k;
            for (int o = 0; o < c.d->operands.size(); ++o) {
                e.value[o] = e.value[o] >= 0 ? f : -1;
                e.gradient[o] = e.gradient[o] >= 0 ? f : -1;
            }
            out.push_back(e);
        }
        return;
    }
    case op_kind::cross_entropy: {
        if (!detail::is_whole_loss(c)) {
            out.push_back(detail::in_format(c, format::plain));
        } else if (c.d->operands[0].extents.rank > 2) {
            for (const int f : {format::channels_last, format::plain}) {
                if (f == format::channels_last && c.d->operands[0].extents.rank < 4) {
                    continue;
                }
                candidate e = detail::in_format(c, f);
                e.scratch = pixel_loss_job::scratch(c, f);
                e.value[c.d->output()] = forward ? format::plain : -1; // rows of images, not images
                for (int o = 0; o < c.d->operands.size(); ++o) {
                    if (c.d->operands[o].kind == operand_kind::intermediate) {
                        e.unused |= bit(o);
                        e.value[o] = -1;
                    }
                }
                out.push_back(e);
            }
        } else {
            k.scratch = loss_job::scratch(c);
            for (int o = 0; o < c.d->operands.size(); ++o) {
                if (c.d->operands[o].kind == operand_kind::intermediate) {
                    k.unused |= bit(o);
                    k.value[o] = -1;
                }
            }
            out.push_back(k);
            for (int o = 0; o < c.d->operands.size(); ++o) {
                k.value[o] = k.value[o] >= 0 ? format::plain : -1;
                k.gradient[o] = k.gradient[o] >= 0 ? format::plain : -1;
            }
            out.push_back(k);
        }
        return;
    }
    case op_kind::concat:
        if (c.d->operands[0].extents.rank == 4) {
            out.push_back(detail::in_format(c, format::channels_last));
            if (concat_job::in_whole_blocks(c)) {
                out.push_back(detail::in_format(c, format::channels16));
            }
        }
        out.push_back(detail::in_format(c, format::samples16));
        out.push_back(detail::in_format(c, format::plain));
        return;
    case op_kind::batch_norm:
    case op_kind::global_average_pool:
        for (const int f : {format::channels16, format::channels_last}) {
            if (c.d->operands[0].extents.rank == 4) {
                candidate e = detail::in_format(c, f);
                const int y = c.d->output();
                if (c.attributes.kind == op_kind::batch_norm) {
                    e.scratch = batch_norm_lanes_job::scratch(c, f);
                } else {
                    e.value[y] = e.value[y] >= 0 ? format::plain : -1;
                    e.gradient[y] = e.gradient[y] >= 0 ? format::plain : -1;
                }
                out.push_back(e);
            }
        }
        [[fallthrough]];
    case op_kind::dropout:
    case op_kind::channel_dropout:
        out.push_back(detail::in_format(c, format::samples16));
        out.push_back(detail::in_format(c, format::plain));
        return;
    default:
        return;
    }
}

// A template only so that it is compiled where a backend is used.
template <class Call>
owned<job> make_vector_job(const Call& b, const format_table& table) {
    using made = owned<job>;
    switch (b.call.attributes.kind) {
    case op_kind::conv2d:
        return made(new conv_job(b));
    case op_kind::linear:
        return made(new linear_job(b));
    case op_kind::max_pool:
    case op_kind::average_pool:
        return made(new blocked_pool_job(b));
    case op_kind::cross_entropy: {
        if (!detail::is_whole_loss(b.call)) {
            return made(new loss_nest_job(b));
        }
        if (b.call.d->operands[0].extents.rank > 2) {
            return made(new pixel_loss_job(b));
        }
        return made(new loss_job(b));
    }
    case op_kind::batch_norm: {
        const int out = b.call.d->output();
        const int f = b.how.value[0] >= 0 ? b.how.value[0] : b.how.gradient[out];
        if (f == format::channels16 || f == format::channels_last) {
            return made(new batch_norm_lanes_job(b, f));
        }
        return made(new batch_norm_job(b));
    }
    case op_kind::dropout:
    case op_kind::channel_dropout:
        return made(new dropout_job(b));
    case op_kind::concat:
        return made(new concat_job(b));
    case op_kind::global_average_pool:
        if (const int f = is_forward(b.call.what) ? b.how.value[0] : b.how.gradient[0];
            f == format::channels16 || f == format::channels_last) {
            return made(new global_average_lanes_job(b));
        }
        return made(new global_average_job(b));
    default:
        return made(new elementwise_job(b, table));
    }
}

} // namespace tessera::host
