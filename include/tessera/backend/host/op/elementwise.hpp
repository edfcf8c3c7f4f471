// SPDX-License-Identifier: Apache-2.0
// Element-wise operators in any format whose elements all operands have in one order.
#pragma once

#include "tessera/backend/host/candidates.hpp"
#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/kernels/elementwise.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/op/add.hpp"
#include "tessera/op/gelu.hpp"
#include "tessera/op/multiply.hpp"
#include "tessera/op/relu.hpp"
#include "tessera/op/sigmoid.hpp"
#include "tessera/op/silu.hpp"
#include "tessera/op/tanh.hpp"

#include <cmath>
#include <cstring>

namespace tessera::host {

/// What an operator does to as many numbers of each of its operands, which may have any places in memory: y from x, and
/// from z where it has two inputs.
using elementwise_forward = void (*)(const float* x, const float* z, float* y, std::ptrdiff_t count);
/// dx from dy and from what its description says that its gradient reads: the output, or the input, or of two inputs
/// the other one.
using elementwise_backward = void (*)(const float* read, const float* dy, float* dx, std::ptrdiff_t count);

/// From a function of one number.
template <float (*Function)(float)>
void each(const float* x, const float*, float* y, std::ptrdiff_t count) {
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        y[i] = Function(x[i]);
    }
}

template <class Function>
void each_of(const float* x, const float*, float* y, std::ptrdiff_t count) {
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        y[i] = Function{}(x[i]);
    }
}

/// From the function's derivative at what its gradient reads.
template <float (*Derivative)(float)>
void each_times(const float* read, const float* dy, float* dx, std::ptrdiff_t count) {
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        dx[i] = Derivative(read[i]) * dy[i];
    }
}

template <class Derivative>
void each_times_of(const float* read, const float* dy, float* dx, std::ptrdiff_t count) {
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        dx[i] = Derivative{}(read[i]) * dy[i];
    }
}

namespace detail {

inline void multiply(const float* x, const float* z, float* y, std::ptrdiff_t count) {
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        y[i] = x[i] * z[i];
    }
}

template <void (*Forward)(const float*, float*, std::ptrdiff_t) noexcept>
void of_one(const float* x, const float*, float* y, std::ptrdiff_t count) {
    Forward(x, y, count);
}

inline void pass_on(const float*, const float* dy, float* dx, std::ptrdiff_t count) {
    std::memcpy(dx, dy, static_cast<std::size_t>(count) * sizeof(float));
}

} // namespace detail

/// Operators that do the same to every element, whatever the format: the number of stored elements is all they need to
/// know.
class elementwise_job : public job {
public:
    elementwise_job(const bound_call& b, const format_table& table, elementwise_forward forward,
                    elementwise_backward backward)
        : b_(b), forward_(forward), backward_(backward) {
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
            forward_(floats(c.value[0].data), floats(c.value[1].data), floats(c.value[out_].data), count_);
            return;
        }
        for (int o = 0; o < out_; ++o) {
            if (has(c.emits, o)) {
                backward_(read_for(o), floats(c.gradient[out_].data), floats(c.gradient[o].data), count_);
            }
        }
    }

private:
    const float* read_for(int o) const {
        for (int k = 0; k <= out_; ++k) {
            if (has(b_.call.d->operands[o].gradient_reads, k)) {
                return detail::floats(b_.call.value[k].data);
            }
        }
        return nullptr;
    }

    bound_call b_;
    elementwise_forward forward_;
    elementwise_backward backward_;
    int out_ = -1;
    std::ptrdiff_t count_ = 0;
};

namespace detail {

/// All operands in one format, which is any that has its elements' zeros where it is longer than they are.
template <bool KeepsZero>
void add_elementwise_candidates(const compute_call& c, format_table&, std::vector<candidate>& out) {
    const bool images = c.d->operands[0].extents.rank == 4;
    for (const int f : {format::plain, format::channels_last, format::samples16, format::channels16}) {
        if ((!images && (f == format::channels_last || f == format::channels16)) ||
            (f == format::channels16 && !KeepsZero)) {
            continue; // the zeros that fill up blocks of channels must stay zeros
        }
        candidate e = in_samples(c);
        for (int o = 0; o < c.d->operands.size(); ++o) {
            e.value[o] = e.value[o] >= 0 ? f : -1;
            e.gradient[o] = e.gradient[o] >= 0 ? f : -1;
        }
        out.push_back(e);
    }
}

template <elementwise_forward Forward, elementwise_backward Backward>
owned<job> make_elementwise_job(const bound_call& b, const format_table& table, dnnl_stream_t) {
    return owned<job>(new elementwise_job(b, table, Forward, Backward));
}

} // namespace detail

/// The row of an element-wise operator. `KeepsZero`: its forward makes 0 of zeros.
template <elementwise_forward Forward, elementwise_backward Backward, bool KeepsZero = true>
constexpr operator_row elementwise(const op_record& of) {
    return {.of = &of,
            .add_candidates = detail::add_elementwise_candidates<KeepsZero>,
            .make_job = detail::make_elementwise_job<Forward, Backward>,
            .why = "one loop over the elements serves every memory format, blocks of 16 samples among them"};
}

/// The same from the functions of one number that forward and its derivative are, which have no state.
template <bool KeepsZero = true, class Function, class Derivative>
constexpr operator_row function_row(const op_record& of, Function, Derivative) {
    return elementwise<each_of<Function>, each_times_of<Derivative>, KeepsZero>(of);
}

/// The same of an operator of one's own, whose record brings it.
template <elementwise_forward Forward, elementwise_backward Backward, bool KeepsZero = true>
constexpr operator_row own_elementwise() {
    operator_row row = elementwise<Forward, Backward, KeepsZero>(op::relu_record);
    row.of = nullptr;
    return row;
}

inline constexpr operator_row elementwise_rows[] = {
    elementwise<detail::of_one<kernels::relu_forward>, kernels::relu_backward>(op::relu_record),
    elementwise<detail::of_one<kernels::sigmoid_forward>, kernels::sigmoid_backward, false>(op::sigmoid_record),
    elementwise<detail::of_one<kernels::tanh_forward>, kernels::tanh_backward>(op::tanh_record),
    elementwise<detail::of_one<kernels::gelu_forward>, kernels::gelu_backward>(op::gelu_record),
    function_row(
        op::silu_record, [](float x) { return x / (1 + std::exp(-x)); },
        [](float x) { return (1 + x - x / (1 + std::exp(-x))) / (1 + std::exp(-x)); }),
    elementwise<kernels::add, detail::pass_on>(op::add_record),
    elementwise<detail::multiply, detail::multiply>(op::multiply_record),
};

} // namespace tessera::host
