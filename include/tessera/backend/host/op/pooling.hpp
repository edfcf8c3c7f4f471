// SPDX-License-Identifier: Apache-2.0
// Pooling over windows of images and volumes: maxima by kernels of our own, averages by oneDNN and by kernels of our
// own.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/kernel_limits.hpp"
#include "tessera/backend/host/kernels/pool_n16.hpp"
#include "tessera/backend/host/onednn/operands.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/op/pool.hpp"

#include <vector>

namespace tessera::host {

namespace detail {

/// Of tiles in format `f`.
kernels::pool_shape pool_shape_of(const compute_call& c, int f);

bool counts_padding(const compute_call& c);

struct pool_problem {
    unique_primitive_desc forward;
    unique_primitive_desc pd; ///< of the pass that was asked for
};

/// Averages alone: of maxima oneDNN loses NaN and negative infinity.
pool_problem make_average_pool(const compute_call& c, const tensor_desc& x, const tensor_desc& y);

} // namespace detail

/// Maxima or averages by kernels of our own, in any format.
template <bool Maximum>
class pooling_job : public job {
public:
    explicit pooling_job(const bound_call& b) : b_(b) {
        in_ = b.call.d->find_operand(operand_kind::input);
        out_ = b.call.d->output();
        const int f = is_forward(b.call.what) ? b.how.value[out_] : b.how.gradient[out_];
        s_ = detail::fitting(detail::pool_shape_of(b.call, f), b.call);
    }
    static bool fits(const compute_call& c, int f) {
        return !op::windows_of(c.attributes, c.d->operands[0].extents.rank).is_dilated() &&
               kernels::fits(detail::pool_shape_of(c, f));
    }
    /// One byte for each output of a max pool: the winner.
    static index_t workspace(const compute_call& c, int f) {
        const kernels::pool_shape s = detail::pool_shape_of(c, f);
        return Maximum && c.what != pass::evaluate
                   ? index_t{s.planes} * s.out_depth * s.out_height * s.out_width * s.lanes
                   : 0;
    }
    void stand_alone() override { // winners outside of the tensor would be written to
        if (!Maximum || is_forward(b_.call.what)) {
            return;
        }
        const auto of = [&](int depth, int height, int width) {
            return std::vector<float>(to_size(s_.planes) * to_size(depth) * to_size(height) * to_size(width) *
                                      to_size(s_.lanes));
        };
        const std::vector<float> x = of(s_.in_depth, s_.in_height, s_.in_width);
        std::vector<float> y = of(s_.out_depth, s_.out_height, s_.out_width);
        kernels::max_pool_forward(x.data(), y.data(), static_cast<std::uint8_t*>(b_.workspace), s_, false);
    }
    void run(const run_state&) override {
        const compute_call& c = b_.call;
        using detail::floats;
        auto* winner = c.what == pass::evaluate ? nullptr : static_cast<std::uint8_t*>(b_.workspace);
        if (is_forward(c.what)) {
            if constexpr (Maximum) {
                kernels::max_pool_forward(floats(c.value[in_].data), floats(c.value[out_].data), winner, s_, false);
            } else {
                kernels::average_pool_forward(floats(c.value[in_].data), floats(c.value[out_].data), s_,
                                              detail::counts_padding(c));
            }
        } else if constexpr (Maximum) {
            kernels::max_pool_backward(floats(c.gradient[out_].data), winner, floats(c.gradient[in_].data), s_);
        } else {
            kernels::average_pool_backward(floats(c.gradient[out_].data), floats(c.gradient[in_].data), s_,
                                           detail::counts_padding(c));
        }
    }

private:
    bound_call b_;
    kernels::pool_shape s_;
    int in_ = -1, out_ = -1;
};

namespace detail {

template <bool Maximum>
void add_pooling_candidate(const compute_call& c, int f, std::vector<candidate>& out) {
    if (!pooling_job<Maximum>::fits(c, f)) {
        return;
    }
    candidate k;
    const bool forward = is_forward(c.what);
    k.engine = engine_kind::vectors;
    (forward ? k.value : k.gradient)[0] = f;
    (forward ? k.value : k.gradient)[c.d->output()] = f;
    k.unused = forward ? 0 : bit(0);
    k.workspace = pooling_job<Maximum>::workspace(c, f);
    out.push_back(k);
}

void add_max_pool_candidates(const compute_call& c, format_table&, std::vector<candidate>& out);

void add_average_pool_candidates(const compute_call& c, format_table& table, std::vector<candidate>& out);

} // namespace detail

/// Averages by oneDNN.
class average_pool_job : public job {
public:
    average_pool_job(const bound_call& b, const format_table& table, dnnl_stream_t stream);
    void run(const run_state&) override { primitive_.execute(); }
    const char* computed_by() const override { return "oneDNN pooling"; }

private:
    primitive_job primitive_;
};

namespace detail {

constexpr operator_row max_pool_row(const op_record* of) {
    return {
        .of = of,
        .add_candidates = add_max_pool_candidates,
        .make_job = make<pooling_job<true>>,
        .why = "oneDNN's maxima lose NaN and negative infinity",
        .problem = [](const compute_call& c) { return window_problem(c); },
        .effort = plain_is_slow,
        .backward_follows_forward = true,
    };
}

constexpr operator_row average_pool_row(const op_record* of) {
    return {
        .of = of,
        .add_candidates = add_average_pool_candidates,
        .make_job = [](const bound_call& b, const format_table& table, dnnl_stream_t stream) -> owned<job> {
            if (b.how.engine == engine_kind::vectors) {
                return owned<job>(new pooling_job<false>(b));
            }
            return owned<job>(new average_pool_job(b, table, stream));
        },
        .forward = "oneDNN pooling, own kernel",
        .backward = "oneDNN pooling, own kernel",
        .why = "oneDNN has no blocks of 16 samples",
        .problem = [](const compute_call& c) { return window_problem(c) + (counts_padding(c) ? "c" : ""); },
        .check = first_use::plain_loops,
    };
}

} // namespace detail

inline constexpr row_list pooling_rows{
    row<op::max_pool_record>([](auto of) { return detail::max_pool_row(of); }),
    row<op::average_pool_record>([](auto of) { return detail::average_pool_row(of); }),
    row<op::max_pool3d_record>([](auto of) { return detail::max_pool_row(of); }),
    row<op::average_pool3d_record>([](auto of) { return detail::average_pool_row(of); }),
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/pooling.inl"
#endif

#include "tessera/base/end_header.inl"
