// SPDX-License-Identifier: Apache-2.0
// Bodies of routing.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/routing.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE kernels::routing_numbers routing_numbers_of(const shard_call& s) {
    const interval samples = s.call.ranges[s.d.find_loop(loop_name::sample)];
    const interval experts = s.call.ranges[s.d.find_loop(loop_name::expert)];
    kernels::routing_numbers n;
    n.samples = samples.size();
    n.experts = experts.size();
    n.first_expert = experts.begin;
    return n;
}

TESSERA_INLINE kernels::routing_numbers keep_top_numbers(const shard_call& s) {
    const auto a = s.attributes().as<op::keep_top_attributes>();
    kernels::routing_numbers n = routing_numbers_of(s);
    n.tokens = s.size(s.output(), 1);
    n.all_experts = s.size(s.input(), 2);
    n.choices = a.top;
    n.normalized = a.normalized ? 1 : 0;
    return n;
}

TESSERA_INLINE kernels::routing_numbers row_numbers(const shard_call& s, int o) {
    kernels::routing_numbers n = routing_numbers_of(s);
    n.slots = s.size(s.input(1), 2);
    n.channels = s.size(o, 2);
    return n;
}

TESSERA_INLINE kernels::routing_numbers token_numbers(const shard_call& s, int o) {
    const interval tokens = s.region_of(o).dim[1];
    kernels::routing_numbers n = row_numbers(s, o);
    n.tokens = tokens.size();
    n.first_token = tokens.begin;
    return n;
}

TESSERA_INLINE void token_slots_forward(const shard_call& s) {
    const shape& gates = s.d.operands[s.input()].extents;
    kernels::routing_numbers n = routing_numbers_of(s);
    n.tokens = gates[1];
    n.all_experts = gates[2];
    n.slots = s.size(s.output(), 2);
    n.choices = s.attributes().as<op::token_slots_attributes>().top;
    s.to.launch_blocks(kernels::assign_slots, {s.value(s.input()), s.value_to(s.output())}, kernel_numbers(n),
                       n.samples, n.experts * 4);
}

TESSERA_INLINE void no_gradient(const shard_call&) {}

TESSERA_INLINE void keep_top_forward(const shard_call& s) {
    const kernels::routing_numbers n = keep_top_numbers(s);
    s.to.launch(kernels::keep_top_forward, {s.value(s.input()), s.value_to(s.output())}, kernel_numbers(n),
                n.samples * n.tokens);
}

TESSERA_INLINE void keep_top_backward(const shard_call& s) {
    if (s.emits(s.input())) {
        const kernels::routing_numbers n = keep_top_numbers(s);
        s.to.launch(kernels::keep_top_backward, {s.value(s.input()), s.gradient(s.output()), s.gradient_to(s.input())},
                    kernel_numbers(n), n.samples * n.tokens);
    }
}

TESSERA_INLINE void dispatch_forward(const shard_call& s) {
    s.to.launch(kernels::dispatch_forward, {s.value(s.input()), s.value(s.input(1)), s.value_to(s.output())},
                kernel_numbers(token_numbers(s, s.input())), s.volume(s.output()));
}

TESSERA_INLINE void dispatch_backward(const shard_call& s) {
    if (s.emits(s.input())) {
        s.to.launch(kernels::dispatch_backward, {s.value(s.input(1)), s.gradient(s.output()), s.gradient_to(s.input())},
                    kernel_numbers(token_numbers(s, s.input())), s.volume(s.input()));
    }
}

TESSERA_INLINE void combine_tokens_forward(const shard_call& s) {
    s.to.launch(kernels::combine_rows_forward,
                {s.value(s.input(0)), s.value(s.input(1)), s.value(s.input(2)), s.value_to(s.output())},
                kernel_numbers(token_numbers(s, s.output())), s.volume(s.output()));
}

TESSERA_INLINE void combine_tokens_backward(const shard_call& s) {
    const kernel_numbers n(token_numbers(s, s.output()));
    if (s.emits(s.input(0))) {
        s.to.launch(kernels::combine_gates_backward,
                    {s.value(s.input(1)), s.value(s.input(2)), s.gradient(s.output()), s.gradient_to(s.input(0))}, n,
                    s.volume(s.input(0)));
    }
    if (s.emits(s.input(2))) {
        s.to.launch(kernels::combine_rows_backward,
                    {s.value(s.input(0)), s.value(s.input(1)), s.gradient(s.output()), s.gradient_to(s.input(2))}, n,
                    s.volume(s.input(2)));
    }
}

TESSERA_INLINE void routed_linear_forward(const shard_call& s) {
    expert_forward(s);
    s.to.launch(kernels::clear_empty_rows, {s.value(s.input(1)), s.value_to(s.output())},
                kernel_numbers(row_numbers(s, s.output())), s.volume(s.output()));
}

TESSERA_INLINE void routed_linear_backward(const shard_call& s) {
    const memory_use dy = s.to.take(s.volume(s.output()) * bytes_of(s.type()));
    s.to.launch(kernels::copy_filled_rows, {s.value(s.input(1)), s.gradient(s.output()), dy},
                kernel_numbers(row_numbers(s, s.output())), s.volume(s.output()));
    expert_backward_of(s, composer::as_read(dy));
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
