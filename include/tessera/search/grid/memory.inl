// SPDX-License-Identifier: Apache-2.0
// Bodies of memory.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/grid/memory.hpp"

#include <utility>

namespace tessera::search::detail {

TESSERA_INLINE pipeline_schedule forward_ahead(int micro_batches, int ahead) {
    pipeline_schedule order = schedule::empty_schedule(1, 1, micro_batches);
    for (int m = 0; m < micro_batches + ahead; ++m) {
        if (m < micro_batches) {
            order.workers[0].push_back({0, m, action_kind::forward});
        }
        if (m >= ahead) {
            order.workers[0].push_back({0, m - ahead, action_kind::backward});
        }
    }
    return order;
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE std::vector<index_t> grid_memory::memory(const device_grid& x) {
    const memory_model& m = memory_of(x);
    std::vector<index_t> bytes;
    for (int s = 0; s < x.stages; ++s) {
        const int in_flight = std::min(x.stages - s, x.micro_batches);
        const index_t blocks = blocks_in(x, s);
        bytes.push_back(persistent(x, s) + m.part[0].at(blocks, in_flight));
        bytes.back() += s == 0 ? m.part[1].at(1, in_flight) : 0;
        bytes.back() += s == x.stages - 1 ? m.part[2].at(1, 1) : 0;
    }
    return bytes;
}

TESSERA_INLINE index_t grid_memory::arena_model::at(index_t blocks, index_t in_flight) const {
    return one + (blocks - 1) * block + (in_flight - 1) * (micro_batch + (blocks - 1) * both);
}

TESSERA_INLINE index_t grid_memory::persistent(const device_grid& x, int s) {
    index_t bytes = 0;
    for (int op = 0; op < g_.op_count; ++op) {
        for (const stored_parameter& h : x.stage[to_size(op)] == s ? stored_by(x, op) : none_) {
            if (!is_first_user(x, h.parameter, op)) {
                continue;
            }
            bytes += tessera::detail::align(h.elements * 4);
            if (g_.parameters[h.parameter].trained) {
                const index_t members = members_of(x, h);
                const index_t slice = (h.elements + members - 1) / members;
                bytes += tessera::detail::align(slice * 4 * options_.update.state_count());
            }
        }
    }
    return bytes;
}

TESSERA_INLINE const grid_memory::memory_model& grid_memory::memory_of(const device_grid& x) {
    memory_model m;
    m.samples = samples(x);
    m.micro_batches = std::min(x.micro_batches, 4);
    m.apart = x.stages > 1;
    m.ops = few_blocks(x, with_blocks(g_, repeats_, 1, m.samples), 1, false).ops;
    for (const memory_model& known : memories_) {
        if (known.samples == m.samples && known.micro_batches == m.micro_batches && known.apart == m.apart &&
            known.ops == m.ops) {
            return known;
        }
    }
    const auto set = [&](index_t arena_model::*which, int blocks, int in_flight) {
        index_t bytes[3];
        arenas(x, blocks, in_flight, bytes);
        for (int k = 0; k < 3; ++k) {
            const arena_model& known = m.part[k];
            m.part[k].*which = bytes[k] - (which == &arena_model::one ? 0 : known.at(blocks, in_flight));
        }
    };
    set(&arena_model::one, 1, 1);
    set(&arena_model::block, 2, 1);
    if (x.micro_batches > 1) {
        set(&arena_model::micro_batch, 1, 2);
        set(&arena_model::both, 2, 2);
    }
    memories_.push_back(std::move(m));
    return memories_.back();
}

TESSERA_INLINE void grid_memory::arenas(const device_grid& x, int blocks, int in_flight, index_t* bytes) const {
    const int count = std::min(x.micro_batches, in_flight + 2);
    const shortened_graph few = with_blocks(g_, repeats_, blocks, samples(x) * count);
    strategy s = few_blocks(x, few, count, false);
    s.follow(detail::forward_ahead(count, std::min(in_flight - 1, count)));
    for (std::size_t op = 0; op < s.ops.size() && x.stages > 1; ++op) {
        const int b = repeats_.block_of(few.op_of[op]);
        s.ops[op].start = b < 0 ? x.tensor : b == repeats_.count ? 2 * x.tensor : 0;
    }
    plan p = bound_plan(few.network.view(), s, 3 * x.tensor, options_);
    plan_memory(p);
    for (int k = 0; k < 3; ++k) {
        const auto first = p.arena_bytes.begin() + std::ptrdiff_t{k} * x.tensor;
        bytes[k] = *std::max_element(first, first + x.tensor);
    }
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
