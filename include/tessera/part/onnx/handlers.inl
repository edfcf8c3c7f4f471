// SPDX-License-Identifier: Apache-2.0
// Bodies of handlers.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/handlers.hpp"

namespace tessera::onnx::nodes {

TESSERA_INLINE void leaky_relu(call& c) {
    c.give(applied(c, c.data(0), with_numbers(op_kind::leaky_relu, c.number("alpha", 0.01))));
}

TESSERA_INLINE void mish(call& c) {
    const view& v = c.data(0);
    c.give(combined(c, v, applied(c, applied(c, v, op_kind::softplus, ".softplus"), op_kind::tanh, ".tanh"),
                    op_kind::multiply));
}

} // namespace tessera::onnx::nodes

namespace tessera::onnx {

TESSERA_INLINE void check_type(const model& m, const node& n) {
    // Of constants and shapes alone; functions of one or two constants have lists of their own (fold.hpp).
    constexpr const char* folded[] = {"Constant",  "Shape", "Size",  "ConstantOfShape", "Range",
                                      "ScatterND", "Trilu", "Where", "ReduceProd"};
    if (!is_usual_domain(n.domain)) {
        throw cannot_say{"it is of the domain '" + n.domain + "'"};
    }
    if (m.functions.count(n.type) != 0) {
        throw cannot_say{"it is a function of the model; export the model with its functions inlined"};
    }
    if (n.type == "If" || n.type == "Loop" || n.type == "Scan") {
        throw cannot_say{"it is control flow; export the model with the way that its example takes"};
    }
    bool known = folding::binary_of(n.type) >= 0 || folding::unary_of(n.type) != nullptr ||
                 std::find(std::begin(folded), std::end(folded), n.type) != std::end(folded);
    for (const node_handler& h : node_handlers) {
        known = known || n.type == h.type;
    }
    if (!known) {
        throw cannot_say{"there is no operator for it"};
    }
}

} // namespace tessera::onnx

#include "tessera/base/end_header.inl"
