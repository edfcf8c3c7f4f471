// SPDX-License-Identifier: Apache-2.0
// Element-wise operators in any format whose elements all operands have in one order.
#pragma once

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/kernels/elementwise.hpp"

#include <cstring>

namespace tessera::host {

/// What an operator does to as many numbers of each of its operands, which may have any places in memory.
struct elementwise_row {
    op_kind kind;
    /// y from x, and from z where it has two inputs.
    void (*forward)(const float* x, const float* z, float* y, std::ptrdiff_t count);
    /// dx from dy and from what its description says that its gradient reads: the output, or the input, or of two inputs the other one.
    void (*backward)(const float* read, const float* dy, float* dx, std::ptrdiff_t count);
    bool keeps_zero = true; ///< forward makes 0 of zeros
};

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

inline constexpr elementwise_row elementwise_rows[] = {
    {op_kind::relu, detail::of_one<kernels::relu_forward>, kernels::relu_backward},
    {op_kind::sigmoid, detail::of_one<kernels::sigmoid_forward>, kernels::sigmoid_backward, false},
    {op_kind::tanh, detail::of_one<kernels::tanh_forward>, kernels::tanh_backward},
    {op_kind::gelu, detail::of_one<kernels::gelu_forward>, kernels::gelu_backward},
    {op_kind::add, kernels::add, detail::pass_on},
    {op_kind::multiply, detail::multiply, detail::multiply},
};

/// Null for an operator that is not element-wise.
constexpr const elementwise_row* elementwise_row_of(op_kind kind) {
    for (const elementwise_row& r : elementwise_rows) {
        if (r.kind == kind) {
            return &r;
        }
    }
    return nullptr;
}

/// Operators that do the same to every element, whatever the format: the number of stored elements is all they need to know.
class elementwise_job : public job {
public:
    /// Throws tessera::error for an operator without a row.
    elementwise_job(const bound_call& b, const format_table& table)
        : b_(b), row_(elementwise_row_of(b.call.attributes.kind)) {
        if (row_ == nullptr) {
            throw error(std::string("tessera: the host backend has no kernel for the operator ") +
                        to_text(b.call.attributes.kind));
        }
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
            row_->forward(floats(c.value[0].data), floats(c.value[1].data), floats(c.value[out_].data), count_);
            return;
        }
        for (int o = 0; o < out_; ++o) {
            if (has(c.emits, o)) {
                row_->backward(read_for(o), floats(c.gradient[out_].data), floats(c.gradient[o].data), count_);
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
    const elementwise_row* row_;
    int out_ = -1;
    std::ptrdiff_t count_ = 0;
};

} // namespace tessera::host
