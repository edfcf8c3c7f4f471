// SPDX-License-Identifier: Apache-2.0
// Bodies of combine.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/combine.hpp"

namespace tessera::cuda::kernels {

TESSERA_INLINE std::string combine_text() {
    return kernel_text(add.name, op::add_formula, expression::the_result) +
           kernel_text(multiply.name, op::multiply_formula, expression::the_result) +
           broadcast_kernels_text(add.name, op::add_formula) +
           broadcast_kernels_text(multiply.name, op::multiply_formula);
}

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

TESSERA_INLINE void combine(const shard_call& s, bool multiplies, memory_use a, memory_use b, memory_use to) {
    const index_t count = s.volume(s.output());
    if (s.in_bf16()) {
        s.to.launch(multiplies ? kernels::multiply : kernels::add, {a, b, to}, count_of(count), count);
        return;
    }
    to_int(count);
    s.to.add(tensor_operation{multiplies, count}, {a, b, to});
}

TESSERA_INLINE void multiply_backward(const shard_call& s) {
    if (op::is_broadcast(s.d)) {
        return expression_backward<op::multiply_record>(s);
    }
    for (int k = 0; k < 2; ++k) {
        if (s.emits(s.input(k))) {
            combine(s, true, s.gradient(s.output()), s.value(s.input(1 - k)), s.gradient_to(s.input(k)));
        }
    }
}

TESSERA_INLINE void add_backward(const shard_call& s) {
    op::is_broadcast(s.d) ? expression_backward<op::add_record>(s) : copy_gradients(s);
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
