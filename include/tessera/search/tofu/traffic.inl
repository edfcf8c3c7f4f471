// SPDX-License-Identifier: Apache-2.0
// Bodies of traffic.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/tofu/traffic.hpp"

#include <utility>

namespace tessera::search {

TESSERA_INLINE tofu_traffic::tofu_traffic(const graph_view& g, const tofu_steps& steps, const tofu_traffic_options& o)
    : g_{g}, o_{o} {
    for (int i = 0; i < steps.count(); ++i) {
        steps_.push_back(steps.first(i));
    }
    steps_.push_back(steps);
    for (int op = 0; op < g.op_count; ++op) {
        descriptions_.push_back(g.describe(op));
        kinds_.push_back(first_alike(op));
    }
    find_gradients();
}

TESSERA_INLINE index_t tofu_traffic::parameter(int op, int which, const history& h) const {
    const description& d = descriptions_[to_size(op)];
    const operand& x = d.operands[which];
    const index_t bytes = x.extents.volume() * bytes_of(x.type);
    index_t holders = 1;
    index_t summands = 1;
    const int nest = gradient_nest(d, which);
    const std::uint32_t first_only = x.additive && nest >= 0 ? reduced_loops(d, nest) : 0; // see is_first_part()
    for (std::size_t i = 0; i < h.size(); ++i) {
        const int f = steps_.back().factors[i];
        holders *= h[i] == copied || !depends(x, h[i]) ? f : 1;
        summands *= h[i] == copied || depends(x, h[i]) || has(first_only, h[i]) ? 1 : f;
    }
    bool backward = false;
    for (const operand& y : d.operands) {
        const bool wanted = y.kind != operand_kind::input || needs_gradient(g_.ops[op].inputs[y.slot]);
        backward = backward || (has(y.gradient_reads, which) && y.differentiable && wanted);
    }
    const index_t gathers = o_.slices_parameters && backward ? 2 : 1;
    return gathers * (holders - 1) * bytes + summands * bytes * (holders - 1) / holders;
}

TESSERA_INLINE index_t tofu_traffic::inside(int op, const history& h) const {
    const description& d = descriptions_[to_size(op)];
    index_t total = 0;
    for (int k = 0; k + 1 < d.nests.size(); ++k) {
        const operand& x = d.operands[d.nests[k].write];
        const std::uint32_t reduced = reduced_loops(d, k);
        index_t parts = 1;
        index_t apart = 1; // groups of devices that each add up a region of their own
        index_t bytes = x.extents.volume() * bytes_of(x.type);
        for (std::size_t i = 0; i < h.size(); ++i) {
            const int f = steps_.back().factors[i];
            const bool adds = h[i] != copied && has(reduced, h[i]);
            parts *= adds ? f : 1;
            apart *= adds ? 1 : f;
            bytes /= h[i] != copied && depends(x, h[i]) ? f : 1;
        }
        const index_t copies =
            parts <= 4 && o_.count == tofu_count::devices ? parts : 2; // see lowering's sum_in_slices()
        const bool back = x.differentiable && needs_gradient(g_.ops[op].output);
        total += (back ? 2 : 1) * apart * copies * (parts - 1) * bytes;
    }
    return total;
}

TESSERA_INLINE index_t tofu_traffic::edge(int op, int slot, const history& from, const history& to) {
    const int tensor = g_.ops[op].inputs[slot];
    const int producer = g_.tensors[tensor].producer;
    const int input = descriptions_[to_size(op)].find_operand(operand_kind::input, slot);
    const bool back = descriptions_[to_size(op)].operands[input].differentiable && needs_gradient(tensor);
    history key = from;
    for (const int x : {-2, kinds_[to_size(producer)], kinds_[to_size(op)], slot, back ? 1 : 0}) {
        key.push_back(x);
    }
    key.insert(key.end(), to.begin(), to.end());
    const auto [place, is_new] = edges_.try_emplace(std::move(key), 0);
    if (is_new) {
        place->second = o_.count == tofu_count::groups ? by_groups(producer, op, input, back, from, to)
                                                       : by_devices(producer, op, input, back, from, to);
    }
    return place->second;
}

TESSERA_INLINE int tofu_traffic::first_alike(int op) const {
    const op_node& own = g_.ops[op];
    for (int i = 0; i < op; ++i) {
        const op_node& x = g_.ops[i];
        bool same = x.attributes == own.attributes && x.inputs.size() == own.inputs.size();
        for (int k = 0; same && k < own.inputs.size(); ++k) {
            same = g_.tensors[x.inputs[k]].extents == g_.tensors[own.inputs[k]].extents;
        }
        if (same) {
            return i;
        }
    }
    return op;
}

TESSERA_INLINE void tofu_traffic::find_gradients() {
    needs_gradient_.assign(to_size(g_.tensor_count), 0);
    for (int op = 0; op < g_.op_count; ++op) {
        bool needs = false;
        for (const int p : g_.ops[op].parameters) {
            needs = needs || g_.parameters[p].trained;
        }
        for (const operand& x : descriptions_[to_size(op)].operands) {
            needs = needs ||
                    (x.kind == operand_kind::input && x.differentiable && needs_gradient(g_.ops[op].inputs[x.slot]));
        }
        needs_gradient_[to_size(g_.ops[op].output)] = needs ? 1 : 0;
    }
}

TESSERA_INLINE const std::vector<piece>& tofu_traffic::pieces(int op, int which, operand_tensor what,
                                                              const history& h) {
    history key = h;
    for (const int x : {-2, kinds_[to_size(op)], which, static_cast<int>(what)}) {
        key.push_back(x);
    }
    const auto [place, is_new] = pieces_.try_emplace(std::move(key));
    if (is_new) {
        std::vector<index_t> pool;
        const description& d = descriptions_[to_size(op)];
        const configuration c = configuration_of(d, h, steps_[h.size()], pool);
        place->second = pieces_of(d, which, c, pool.data(), what);
    }
    return place->second;
}

TESSERA_INLINE index_t tofu_traffic::by_devices(int producer, int op, int input, bool back, const history& from,
                                                const history& to) {
    const int output = descriptions_[to_size(producer)].output();
    const index_t size = bytes_of(descriptions_[to_size(producer)].operands[output].type);
    const auto move = [&](const std::vector<piece>& a, const std::vector<piece>& b) {
        index_t bytes = 0;
        for (std::size_t i = 0; i < b.size(); ++i) {
            bytes += bytes_received(copy_recipe_for(a, b[i].region, b[i].device, b[i].device), a, b[i].device, size);
        }
        return bytes;
    };
    index_t total =
        move(pieces(producer, output, operand_tensor::value, from), pieces(op, input, operand_tensor::value, to));
    if (back) {
        total += move(pieces(op, input, operand_tensor::gradient, to),
                      pieces(producer, output, operand_tensor::gradient, from));
    }
    return total;
}

TESSERA_INLINE int tofu_traffic::state_of(const description& d, int which, int loop) {
    const operand& x = d.operands[which];
    for (int k = 0; k < x.extents.rank; ++k) {
        for (const affine::term& t : x.dim[k].terms) {
            if (t.loop == loop) {
                return k;
            }
        }
    }
    return loop == copied ? whole : summand;
}

TESSERA_INLINE index_t tofu_traffic::by_groups(int producer, int op, int input, bool back, const history& from,
                                               const history& to) const {
    const description& d = descriptions_[to_size(producer)];
    const operand& x = d.operands[d.output()];
    const index_t all = x.extents.volume() * bytes_of(x.type);
    index_t made = all; // bytes of a group
    index_t needed = all;
    index_t groups = 1;
    index_t total = 0;
    const auto move = [](int a, index_t size_a, int b, index_t size_b, index_t f) {
        const index_t added = a == summand ? (f - 1) * size_a : 0;
        const bool parted = a >= 0 && b >= 0 && a != b;
        const index_t spread = a != whole && b < 0 ? (f - 1) * size_b : 0;
        return added + spread + (parted ? size_b - size_b / f : 0);
    };
    for (std::size_t i = 0; i < from.size(); ++i) {
        const int f = steps_.back().factors[i];
        const int a = state_of(d, d.output(), from[i]);
        const int b = state_of(descriptions_[to_size(op)], input, to[i]);
        // Backward a group that needs the whole adds a summand to the gradient, one that makes a summand needs the
        // whole of it.
        total += groups * (move(a, made, b, needed, f) + (back ? move(b, needed, a, made, f) : 0));
        made /= a >= 0 ? f : 1;
        needed /= b >= 0 ? f : 1;
        groups *= f;
    }
    return total;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
