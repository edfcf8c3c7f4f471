// SPDX-License-Identifier: Apache-2.0
// x + y, element by element.
#pragma once

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

inline constexpr op_record add_record{
    .name = "add",
    .infer = [](const op_attributes&, const shape* x, int count) { return infer_alike(x, count); },
    .describe = [](const op_attributes&, const shape* x, int) { return as_linear(describe_elementwise(*x, 2, 1)); },
    .inputs = 2,
    .facts = {.passes_gradient = true},
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::add{&op::add_record};

struct add : detail::simple_layer<op_kind::add> {};

} // namespace tessera
