// SPDX-License-Identifier: Apache-2.0
// Which operators of ONNX are understood, and by what.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/binary.hpp"
#include "tessera/part/onnx/moves.hpp"
#include "tessera/part/onnx/norms.hpp"
#include "tessera/part/onnx/products.hpp"
#include "tessera/part/onnx/resize.hpp"
#include "tessera/part/onnx/windows.hpp"

namespace tessera::onnx {

struct node_handler {
    const char* type;
    void (*handle)(call&);
};

namespace nodes {

template <int Which>
void simple(call& c) {
    constexpr op_kind kinds[] = {op_kind::relu, op_kind::sigmoid,   op_kind::tanh, op_kind::softplus,
                                 op_kind::exp,  op_kind::log,       op_kind::sqrt, op_kind::negate,
                                 op_kind::abs,  op_kind::hard_swish};
    function(c, kinds[Which]);
}
inline void identity(call& c) { c.give(c.data(0)); }
inline void reciprocal(call& c) { c.give(applied(c, c.data(0), with_numbers(op_kind::power, -1))); }
void leaky_relu(call& c);
inline void elu(call& c) { c.give(applied(c, c.data(0), with_numbers(op_kind::elu, c.number("alpha", 1)))); }
void mish(call& c);
inline void squeeze(call& c) { give_reshaped(c, c.data(0), folding::squeezed(c, c.data(0).extents())); }
inline void unsqueeze(call& c) { give_reshaped(c, c.data(0), folding::unsqueezed(c, c.data(0).extents())); }
inline void flatten(call& c) { give_reshaped(c, c.data(0), folding::flattened(c, c.data(0).extents())); }

} // namespace nodes

inline constexpr node_handler node_handlers[] = {
    {"Conv", nodes::conv},
    {"ConvTranspose", nodes::conv_transpose},
    {"MaxPool", nodes::pool},
    {"AveragePool", nodes::pool},
    {"GlobalAveragePool", nodes::global_pool},
    {"GlobalMaxPool", nodes::global_pool},
    {"Gemm", nodes::gemm},
    {"MatMul", nodes::matmul},
    {"Gather", nodes::gather},
    {"BatchNormalization", nodes::batch_norm},
    {"LayerNormalization", nodes::layer_norm},
    {"InstanceNormalization", nodes::image_norm},
    {"GroupNormalization", nodes::image_norm},
    {"Softmax", nodes::softmax},
    {"LogSoftmax", nodes::softmax},
    {"ReduceMean", nodes::reduce},
    {"ReduceSum", nodes::reduce},
    {"ReduceMax", nodes::reduce},
    {"ReduceMin", nodes::reduce},
    {"ReduceL2", nodes::reduce},
    {"ReduceSumSquare", nodes::reduce},
    {"Relu", nodes::simple<0>},
    {"Sigmoid", nodes::simple<1>},
    {"Tanh", nodes::simple<2>},
    {"Softplus", nodes::simple<3>},
    {"Exp", nodes::simple<4>},
    {"Log", nodes::simple<5>},
    {"Sqrt", nodes::simple<6>},
    {"Neg", nodes::simple<7>},
    {"Abs", nodes::simple<8>},
    {"HardSwish", nodes::simple<9>},
    {"Reciprocal", nodes::reciprocal},
    {"LeakyRelu", nodes::leaky_relu},
    {"Elu", nodes::elu},
    {"Mish", nodes::mish},
    {"HardSigmoid", nodes::hard_sigmoid},
    {"PRelu", nodes::prelu},
    {"Gelu", nodes::gelu},
    {"Erf", nodes::erf},
    {"Clip", nodes::clip},
    {"Add", nodes::binary},
    {"Sub", nodes::binary},
    {"Mul", nodes::binary},
    {"Div", nodes::binary},
    {"Pow", nodes::binary},
    {"Min", nodes::binary},
    {"Max", nodes::binary},
    {"Sum", nodes::sum},
    {"Dropout", nodes::dropout},
    {"Cast", nodes::cast},
    {"Identity", nodes::identity},
    {"Reshape", nodes::reshape},
    {"Flatten", nodes::flatten},
    {"Squeeze", nodes::squeeze},
    {"Unsqueeze", nodes::unsqueeze},
    {"Transpose", nodes::transpose},
    {"Concat", nodes::concat},
    {"Split", nodes::split},
    {"Slice", nodes::slice},
    {"Pad", nodes::pad},
    {"Expand", nodes::expand},
    {"Resize", nodes::resize},
    {"DepthToSpace", nodes::depth_and_space},
    {"SpaceToDepth", nodes::depth_and_space},
};

/// Throws where no operator is called so, whatever its inputs.
void check_type(const model& m, const node& n);

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/handlers.inl"
#endif

#include "tessera/base/end_header.inl"
