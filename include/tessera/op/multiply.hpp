// SPDX-License-Identifier: Apache-2.0
// x * y, element by element.
#pragma once

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

constexpr description describe_multiply(const shape& x) {
    description d = describe_elementwise(x, 2, 1);
    d.operands[0].gradient_reads = bit(1);
    d.operands[1].gradient_reads = bit(0);
    return d;
}

inline constexpr op_record multiply_record{
    .name = "multiply",
    .infer = [](const op_attributes&, const shape* x, int count) { return infer_alike(x, count); },
    .describe = [](const op_attributes&, const shape* x, int) { return describe_multiply(*x); },
    .inputs = 2,
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::multiply{&op::multiply_record};

struct multiply : detail::simple_layer<op_kind::multiply> {};

} // namespace tessera
