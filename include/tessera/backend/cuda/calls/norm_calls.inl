// SPDX-License-Identifier: Apache-2.0
// Bodies of norm_calls.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/norm_calls.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE void compose_norm(composer& to, const graph_view& g, const optimizer& update) {
    for_each_part(to.what(), [&](const task& t) {
        const tile& x = to.tile_at(t.reads[0]);
        const interval slice = slice_of(x, t);
        const memory_use norm = to.write(t.params().layer_norms[0]);
        if (slice.empty()) {
            return void(to.add(memory_clear{}, {norm}));
        }
        const memory_use weights = to.slice(t.reads[0], slice, false);
        std::vector<memory_use> memory{t.params().state >= 0 ? to.read(t.params().state) : weights};
        kernel_launch k = update_launch(rule_for(update, g, t.params().parameter), slice.size());
        k.which = &kernels::layer_squares;
        k.blocks = blocks_of_squares(slice.size());
        for (int r : t.reads) {
            if (to.tile_at(r).kind == tile_kind::parameter_gradient) {
                memory.push_back(to.slice(r, slice_of(to.tile_at(r), t), false));
            }
        }
        auto n = k.numbers.as<kernels::layer_squares_numbers>(); // but for these as of a step
        n.sources = static_cast<index_t>(memory.size()) - 1;
        n.boxes = static_cast<index_t>(t.params().counted_elsewhere.size());
        n.norms = static_cast<index_t>(t.params().norms.size());
        n.first = x.slices > 1 ? even_part(x.region.volume(), t.params().slices, t.params().slice).begin : slice.begin;
        k.numbers.set(n);
        k.constants = counted_boxes(x.region, t.params().counted_elsewhere);
        memory.push_back(weights);
        for (int other : t.params().norms) {
            memory.push_back(to.read(other));
        }
        const memory_use sums = to.take(2 * k.blocks * index_t{8});
        memory.push_back(sums);
        const kernels::count_numbers total{.count = k.blocks};
        to.add(std::move(k), std::move(memory));
        kernel_launch last = composer::make(kernels::squares_total, 2, kernel_numbers(total));
        last.blocks = 2;
        last.threads = 64;
        to.add(std::move(last), {composer::as_read(sums), norm});
    });
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
