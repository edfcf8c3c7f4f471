// SPDX-License-Identifier: Apache-2.0
// What a device of every stage of a grid needs of its memory, from the arenas of plans of a few blocks and micro-batches.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/memory.hpp"
#include "tessera/search/finished_step.hpp"
#include "tessera/search/grid/times.hpp"

namespace tessera::search {

class grid_memory : public grid_timer {
public:
    using grid_timer::grid_timer;

    /// Bytes of one device of every stage: parameters, their gradients, the optimizer's state (which replicas share), and what lives at the same
    /// time, extrapolated from plans of one and two blocks with one and two micro-batches in flight.
    std::vector<index_t> memory(const device_grid& x) {
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

private:
    /// Bytes of an arena: with one block and one micro-batch in flight, and what another block, micro-batch, and block of one adds.
    struct arena_model {
        index_t one = 0, block = 0, micro_batch = 0, both = 0;
        index_t at(index_t blocks, index_t in_flight) const {
            return one + (blocks - 1) * block + (in_flight - 1) * (micro_batch + (blocks - 1) * both);
        }
    };
    struct memory_model {
        index_t samples = 0;
        int micro_batches = 0;
        bool apart = false;
        std::vector<configuration> ops;
        arena_model part[3]; ///< of the blocks, and, where they are kept apart, of what stands before and behind
    };
    /// Parameters and the optimizer's state on a device of a stage, which all that hold the same share.
    index_t persistent(const device_grid& x, int s) {
        index_t bytes = 0;
        for (int op = 0; op < g_.op_count; ++op) {
            for (const held& h : x.stage[at(op)] == s ? held_by(x, op) : none_) {
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

    const memory_model& memory_of(const device_grid& x) {
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
        memories_.push_back(static_cast<memory_model&&>(m));
        return memories_.back();
    }

    /// The largest arena of a stage of so many blocks with so many micro-batches in flight, as 1F1B has them; where there are several stages, what
    /// stands before the blocks and behind them is put on devices of its own.
    void arenas(const device_grid& x, int blocks, int in_flight, index_t* bytes) const {
        const int count = std::min(x.micro_batches, in_flight + 2);
        const shortened_graph few = with_blocks(g_, repeats_, blocks, samples(x) * count);
        strategy s = few_blocks(x, few, count, false);
        pipeline_schedule order = schedule::empty_schedule(1, 1, count);
        const int ahead = std::min(in_flight - 1, count);
        for (int m = 0; m < count + ahead; ++m) {
            if (m < count) {
                order.workers[0].push_back({0, m, action_kind::forward});
            }
            if (m >= ahead) {
                order.workers[0].push_back({0, m - ahead, action_kind::backward});
            }
        }
        s.follow(order);
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

    std::vector<memory_model> memories_;
};

} // namespace tessera::search

#include "tessera/base/end_header.inl"
