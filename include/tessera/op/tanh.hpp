// SPDX-License-Identifier: Apache-2.0
// The hyperbolic tangent, element by element.
#pragma once

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

inline constexpr op_record tanh_record{
    .name = "tanh",
    .infer = [](const op_attributes&, const shape* x, int count) { return infer_alike(x, count); },
    .describe = [](const op_attributes&, const shape* x, int) { return describe_function(*x, 10, true); },
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::tanh{&op::tanh_record};

struct tanh : detail::simple_layer<op_kind::tanh> {};

} // namespace tessera
