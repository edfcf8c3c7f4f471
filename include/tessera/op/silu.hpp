// SPDX-License-Identifier: Apache-2.0
// x * sigmoid(x), element by element (Hendrycks and Gimpel 2016; Ramachandran et al. 2017, "Searching for activation functions").
#pragma once

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

inline constexpr op_record silu_record{
    .name = "silu",
    .infer = [](const op_attributes&, const shape* x, int count) { return infer_alike(x, count); },
    .describe = [](const op_attributes&, const shape* x, int) { return describe_function(*x, 5, false); },
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::silu{&op::silu_record};

struct silu : detail::simple_layer<op_kind::silu> {};

} // namespace tessera
