// SPDX-License-Identifier: Apache-2.0
// x times the normal distribution function of x (Hendrycks and Gimpel 2016), element by element.
#pragma once

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

inline constexpr op_record gelu_record{
    .name = "gelu",
    .infer = [](const op_attributes&, const shape* x, int count) { return infer_alike(x, count); },
    .describe = [](const op_attributes&, const shape* x, int) { return describe_function(*x, 12, false); },
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::gelu{&op::gelu_record};

/// x * Phi(x), with the normal distribution function itself, not an approximation.
struct gelu : detail::simple_layer<op_kind::gelu> {};

} // namespace tessera
