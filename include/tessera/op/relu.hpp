// SPDX-License-Identifier: Apache-2.0
// max(x, 0), element by element.
#pragma once

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

inline constexpr op_record relu_record{
    .name = "relu",
    .infer = [](const op_attributes&, const shape* x, int count) { return infer_alike(x, count); },
    .describe = [](const op_attributes&, const shape* x, int) { return describe_function(*x, 1, true); },
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::relu{&op::relu_record};

struct relu : detail::simple_layer<op_kind::relu> {};

} // namespace tessera
