// SPDX-License-Identifier: Apache-2.0
// Bodies of nest.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/nest.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE const nest_program& nest_program_of(const shard_call& s) {
    return *own_nests_of(record_of(s.attributes())).of_rank[s.d.operands[s.input()].extents.rank];
}

TESSERA_INLINE kernel_numbers nest_numbers(const shard_call& s, const nests::program& p, const nest_text& text,
                                           bool adds) {
    kernel_numbers n;
    if (text.integers() > kernel_integers || static_cast<int>(text.reals().size()) > kernel_reals ||
        static_cast<int>(text.pointers().size()) > kernel_pointers) {
        throw error(
            "tessera: a pass of a " + std::string(s.row.of->name) +
            " has more loops, operands or numbers than a kernel of the CUDA backend takes; write the operator as two");
    }
    const int target = text.pointers().back().operand;
    const box written = s.region_of(target);
    n.n[nest_text::count_at] = written.volume();
    n.n[nest_text::adds_at] = adds ? 1 : 0;
    for (int l = 0; l < s.d.loops.size(); ++l) {
        n.n[text.begin_at(l)] = s.call.ranges[l].begin;
        n.n[text.size_at(l)] = s.call.ranges[l].size();
    }
    for (int k = 0; k < written.rank; ++k) {
        n.n[text.dimension_at(k)] = written.dim[k].size();
        n.n[text.dimension_at(k) + 1] = written.dim[k].begin;
    }
    for (std::size_t i = 0; i + 1 < text.pointers().size(); ++i) {
        const int o = text.pointers()[i].operand;
        const reference::detail::cursor c = reference::detail::place(s.d.operands[o], s.region_of(o));
        const int at = text.pointer_at(static_cast<int>(i));
        n.n[at] = c.base;
        for (int l = 0; l < s.d.loops.size(); ++l) {
            n.n[at + 1 + l] = c.step[l];
        }
    }
    int at = text.windows_at();
    for (const auto& [o, k] : text.windows()) {
        const affine& a = s.d.operands[o].dim[k];
        n.n[at] = a.offset;
        n.n[at + 1] = s.d.operands[o].extents[k];
        for (int t = 0; t < a.terms.size(); ++t) {
            n.n[at + 2 + t] = a.terms[t].coefficient;
        }
        at += nest_text::window_size;
    }
    double scalars[nests::max_scalars] = {};
    nests::scalars_of_call(p, s.call, scalars);
    for (std::size_t i = 0; i < text.reals().size(); ++i) {
        const int number = text.reals()[i];
        n.f[i] = p.scalars[number].kind == nests::scalar_kind::index ? 0 : scalars[number];
    }
    return n;
}

TESSERA_INLINE void launch_nest(const shard_call& s, const nests::program& p, const nest_text& text,
                                const nest_kernels& k, bool adds) {
    std::vector<memory_use> memory;
    for (std::size_t i = 0; i + 1 < text.pointers().size(); ++i) {
        const nest_text::pointer& x = text.pointers()[i];
        memory.push_back(x.gradient ? s.gradient(x.operand) : s.value(x.operand));
    }
    const nest_text::pointer& to = text.pointers().back();
    memory.push_back(to.gradient ? s.gradient_to(to.operand) : s.value_to(to.operand));
    const kernel_numbers n = nest_numbers(s, p, text, adds);
    const index_t elements = n.n[nest_text::count_at];
    index_t points = 1;
    for (const int l : text.inner()) {
        points *= s.call.ranges[l].size();
    }
    constexpr index_t few = 65536; // elements, for which a thread each does not fill a GPU
    if (text.reduces() && points >= (elements < few ? 32 : 256)) {
        s.to.launch_blocks(k.by_block, std::move(memory), n, elements, points);
    } else {
        s.to.launch(k.by_thread, std::move(memory), n, elements);
    }
}

TESSERA_INLINE void nests_forward(const shard_call& s) {
    const nest_program& made = nest_program_of(s);
    const nests::program& p = nests::program_of(s.attributes(), s.d);
    for (int k = s.call.first_nest; k <= s.call.last_nest; ++k) {
        const auto i = to_size(k);
        launch_nest(s, p, made.forward[i], *made.kernels_forward[i], false);
    }
}

TESSERA_INLINE void nests_backward(const shard_call& s) {
    const nest_program& made = nest_program_of(s);
    const nests::program& p = nests::program_of(s.attributes(), s.d);
    for (int nest = s.d.nests.size() - 1; nest >= 0; --nest) {
        for (int o = 0; o < s.d.operands.size(); ++o) {
            if (!s.emits(o) || gradient_nest(s.d, o) != nest) {
                continue;
            }
            bool any = false;
            for (int k = 0; k < p.backward.size(); ++k) {
                if (p.backward[k].target == o && reference::detail::adds_to_gradient(s.call, p.backward[k])) {
                    const auto i = to_size(k);
                    launch_nest(s, p, made.backward[i], *made.kernels_backward[i], any);
                    any = true;
                }
            }
            if (!any) {
                s.to.add(memory_clear{}, {s.gradient_to(o)});
            }
        }
    }
}

TESSERA_INLINE void make_nest_kernels(nest_program& made, const nests::program& p, const std::string& name) {
    const auto each = [&](const auto& passes, std::vector<nest_text>& texts, auto& kernels, const std::string& stem) {
        for (int k = 0; k < passes.size(); ++k) {
            texts.emplace_back(p, passes[k]);
            kernels.push_back(std::make_unique<nest_kernels>());
            nest_kernels& x = *kernels.back();
            x.name = stem + std::to_string(k);
            x.name_of_rows = x.name + "_rows";
            made.text += texts.back().kernels(x.name);
        }
    };
    each(p.forward, made.forward, made.kernels_forward, name + "_forward_");
    each(p.backward, made.backward, made.kernels_backward, name + "_backward_");
    for (auto* all : {&made.kernels_forward, &made.kernels_backward}) {
        for (const auto& x : *all) {
            x->by_thread = {x->name.c_str(), true, made.text.c_str(), "loop_nests"};
            x->by_block = {x->name_of_rows.c_str(), true, made.text.c_str(), "loop_nests"};
        }
    }
}

/// Made once for a process; the record must be of loop nests, and lives as long.
TESSERA_INLINE const own_nests& own_nests_of(const op_record& r) {
    static mutex one_at_a_time;
    static std::map<std::string, std::unique_ptr<own_nests>> known;
    const locked lock(one_at_a_time);
    std::unique_ptr<own_nests>& found = known[r.name];
    if (found == nullptr) {
        found = std::make_unique<own_nests>();
        for (int rank = 0; rank <= max_rank; ++rank) {
            const nests::program* const p = r.generated->of_rank[rank];
            if (p != nullptr && rank > 0 && p == r.generated->of_rank[rank - 1]) {
                found->of_rank[rank] = found->of_rank[rank - 1];
            } else if (p != nullptr) {
                found->of_rank[rank] = std::make_shared<nest_program>();
                make_nest_kernels(*found->of_rank[rank], *p, identifier_of(r.name) + "_" + std::to_string(rank));
            }
        }
        found->row = nest_row(r);
    }
    return *found;
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
