// SPDX-License-Identifier: Apache-2.0
// Element-wise operators in any format whose elements all operands have in one order.
#pragma once

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/kernels/elementwise.hpp"

#include <cstring>

namespace tessera::host {

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

} // namespace tessera::host
