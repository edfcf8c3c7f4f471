// SPDX-License-Identifier: Apache-2.0
// 1 / (1 + exp(-x)), element by element.
#pragma once

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

inline constexpr op_record sigmoid_record{
    .name = "sigmoid",
    .infer = [](const op_attributes&, const shape* x, int count) { return infer_alike(x, count); },
    .describe = [](const op_attributes&, const shape* x, int) { return describe_function(*x, 10, true); },
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::sigmoid{&op::sigmoid_record};

struct sigmoid : detail::simple_layer<op_kind::sigmoid> {};

} // namespace tessera
