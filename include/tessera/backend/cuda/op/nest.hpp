// SPDX-License-Identifier: Apache-2.0
// Operators that are written as loop nests: kernels whose text follows from them, made when an operator is first asked
// for.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/nest.hpp"
#include "tessera/backend/cuda/op/expression.hpp"
#include "tessera/backend/reference/op/nest.hpp"
#include "tessera/op/library.hpp"

namespace tessera::cuda {

namespace detail {

/// A pass: its kernels, one with a thread for each element and one with a block.
struct nest_kernels {
    std::string name;
    std::string name_of_rows;
    kernel by_thread{};
    kernel by_block{};
};

/// An operator whose first input has a certain rank.
struct nest_program {
    std::vector<nest_text> forward;
    std::vector<nest_text> backward;
    std::vector<std::unique_ptr<nest_kernels>> kernels_forward;
    std::vector<std::unique_ptr<nest_kernels>> kernels_backward;
    std::string text;
};

/// An operator, of all ranks that it takes.
struct own_nests {
    std::shared_ptr<nest_program> of_rank[max_rank + 1];
    operator_row row{};
};

const own_nests& own_nests_of(const op_record& r);

const nest_program& nest_program_of(const shard_call& s);

/// The arguments of a pass.
kernel_numbers nest_numbers(const shard_call& s, const nests::program& p, const nest_text& text, bool adds);

void launch_nest(const shard_call& s, const nests::program& p, const nest_text& text, const nest_kernels& k, bool adds);

void nests_forward(const shard_call& s);
void nests_backward(const shard_call& s);

/// The row of an operator that is written as loop nests.
constexpr operator_row nest_row(const op_record& of) {
    return {.of = &of,
            .forward = nests_forward,
            .backward = nests_backward,
            .calls_forward = "kernel:loop_nests",
            .calls_backward = "kernel:loop_nests",
            .why = "made of its loop nests"};
}

void make_nest_kernels(nest_program& made, const nests::program& p, const std::string& name);

} // namespace detail

inline constexpr operator_row nest_rows[] = {
    detail::nest_row(op::rms_norm_record),         detail::nest_row(op::instance_norm_record),
    detail::nest_row(op::image_layer_norm_record), detail::nest_row(op::pixel_norm_record),
    detail::nest_row(op::rotary_record),           detail::nest_row(op::bilinear_record),
    detail::nest_row(op::fixed_batch_norm_record),
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/nest.inl"
#endif

#include "tessera/base/end_header.inl"
