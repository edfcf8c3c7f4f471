// SPDX-License-Identifier: Apache-2.0
// Bodies of merge.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/merge.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE void merger::run(bool fuses) {
    for (int op = 0; op < g_.op_count; ++op) {
        const op_attributes& a = g_.ops[op].attributes;
        const operator_row* const row = row_of(a);
        if (row != nullptr && row->is_one_call != nullptr && row->is_one_call(a)) {
            merge_nests(op, row->keeps_intermediates);
        }
    }
    if (fuses) {
        fuse_activations();
    }
}

TESSERA_INLINE bool merger::touches(const std::vector<int>& list, int t) {
    return std::find(list.begin(), list.end(), t) != list.end();
}

TESSERA_INLINE void merger::merge_nests(int op, bool keeps) {
    const description d = g_.describe(op);
    std::uint32_t between = 0;
    for (int o = 0; o < d.operands.size(); ++o) {
        between |= d.operands[o].kind == operand_kind::intermediate ? bit(o) : 0;
    }
    std::vector<halves> pairs;
    if (p_.micro_batches != 1 || !forward_is_whole(op, d) || !find_halves(op, d, pairs) ||
        is_seen_outside(op, between)) {
        return;
    }
    std::vector<char> gone(p_.tasks.size(), 0);
    for (const halves& h : pairs) {
        merge(p_.tasks[h.inner], p_.tasks[h.outer], between, keeps);
        gone[h.inner] = 1;
    }
    for (task& t : p_.tasks) {
        if (t.kind() != task_kind::compute || t.op != op) {
            continue;
        }
        t.mutable_compute().implementation = whole_operator;
        for (int o = 0; o < d.operands.size(); ++o) {
            if (!has(between, o) || t.compute().value[o] < 0) {
                continue;
            }
            if (keeps) {
                p_.tiles[to_size(t.compute().value[o])].type = element::f32;
            } else {
                std::erase(t.reads, t.compute().value[o]);
                std::erase(t.writes, t.compute().value[o]);
                t.mutable_compute().value[o] = -1;
            }
        }
    }
    std::vector<task> left;
    for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
        if (gone[i] == 0) {
            left.push_back(std::move(p_.tasks[i]));
        }
    }
    p_.tasks = std::move(left);
}

TESSERA_INLINE bool merger::forward_is_whole(int op, const description& d) const {
    bool any = false;
    for (const task& t : p_.tasks) {
        if (t.kind() == task_kind::compute && t.op == op && t.what == pass::recompute) {
            return false;
        }
        if (t.kind() == task_kind::compute && t.op == op && (t.what == pass::forward || t.what == pass::evaluate)) {
            any = true;
            if (t.compute().last_nest != d.nests.size() - 1 ||
                (t.what == pass::forward && t.compute().first_nest != 0)) {
                return false;
            }
        }
    }
    return any;
}

TESSERA_INLINE bool merger::find_halves(int op, const description& d, std::vector<halves>& pairs) const {
    const int input = d.find_operand(operand_kind::input);
    int inner = 0;
    for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
        const task& t = p_.tasks[i];
        const bool backward = t.kind() == task_kind::compute && t.op == op && t.compute().emits != 0;
        inner += backward && !has(t.compute().emits, input) ? 1 : 0;
        if (!backward || !has(t.compute().emits, input)) {
            continue;
        }
        std::size_t found = i;
        for (std::size_t k = 0; k < i; ++k) {
            const task& other = p_.tasks[k];
            if (other.kind() == task_kind::compute && other.op == op && other.compute().emits != 0 &&
                !has(other.compute().emits, input) && other.device == t.device &&
                other.shard_number == t.shard_number) {
                found = k;
            }
        }
        if (found == i) {
            return false;
        }
        pairs.push_back({found, i});
    }
    return inner == static_cast<int>(pairs.size());
}

TESSERA_INLINE bool merger::is_seen_outside(int op, std::uint32_t between) const {
    for (const task& t : p_.tasks) {
        const bool own = t.kind() == task_kind::compute && t.op == op;
        for (const std::vector<int>* list : {&t.reads, &t.writes}) {
            for (int r : *list) {
                const tile& x = p_.tiles[to_size(r)];
                const bool is_between =
                    (x.kind == tile_kind::intermediate || x.kind == tile_kind::intermediate_gradient) &&
                    x.tensor / max_operands == op && has(between, x.tensor % max_operands);
                if (is_between && (!own || x.device != t.device || x.keep)) {
                    return true;
                }
            }
        }
    }
    return false;
}

TESSERA_INLINE void merger::merge(const task& inner, task& outer, std::uint32_t between, bool keeps) const {
    for (int o = 0; o < max_operands; ++o) {
        if (has(between, o)) {
            if (outer.compute().gradient[o] >= 0) {
                std::erase(outer.reads, outer.compute().gradient[o]);
            }
            outer.mutable_compute().gradient[o] = -1;
            outer.mutable_compute().value[o] =
                !keeps || outer.compute().value[o] >= 0 ? outer.compute().value[o] : inner.compute().value[o];
            continue;
        }
        outer.mutable_compute().value[o] =
            outer.compute().value[o] >= 0 ? outer.compute().value[o] : inner.compute().value[o];
        if (has(inner.compute().emits, o)) {
            outer.mutable_compute().emits |= bit(o);
            outer.mutable_compute().gradient[o] = inner.compute().gradient[o];
            outer.writes.push_back(inner.compute().gradient[o]);
        } else if (outer.compute().gradient[o] < 0) {
            outer.mutable_compute().gradient[o] = inner.compute().gradient[o];
        }
    }
    for (int r : inner.reads) {
        if (!touches(outer.reads, r)) {
            outer.reads.push_back(r);
        }
    }
}

TESSERA_INLINE void merger::fuse_activations() {
    std::vector<int> touched(p_.tiles.size(), 0); // reads and writes, of root tiles
    std::vector<int> writer(p_.tiles.size(), -1); // the last one
    for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
        for (int r : p_.tasks[to_size(i)].reads) {
            ++touched[to_size(p_.root(r))];
        }
        for (int w : p_.tasks[to_size(i)].writes) {
            ++touched[to_size(p_.root(w))];
            writer[to_size(w)] = i;
        }
    }
    for (std::size_t t = 0; t < p_.tiles.size(); ++t) {
        if (p_.tiles[t].alias >= 0) {
            touched[to_size(p_.root(static_cast<int>(t)))] += 3; // somebody has another name for it
        }
    }
    for (task& t : p_.tasks) {
        const bool forward = t.kind() == task_kind::compute && t.compute().emits == 0 && t.what != pass::update;
        const operator_row* const row = forward ? row_of(g_.ops[t.op].attributes) : nullptr;
        if (row == nullptr || !row->is_relu || t.reads.size() != 1) {
            continue;
        }
        const int from = t.reads[0];
        const int to = t.writes[0];
        const int before = writer[to_size(from)];
        if (before < 0 || touched[to_size(from)] != 2 || p_.tiles[to_size(from)].keep ||
            p_.tiles[to_size(from)].alias >= 0 || p_.tiles[to_size(to)].alias >= 0 ||
            !may_activate(p_.tasks[to_size(before)], t) ||
            !(p_.tiles[to_size(from)].region == p_.tiles[to_size(to)].region)) {
            continue;
        }
        p_.tasks[to_size(before)].mutable_compute().activates = true;
        t.mutable_compute().fused = true;
        p_.tiles[to_size(to)].alias = from;
    }
}

TESSERA_INLINE bool merger::may_activate(const task& t, const task& relu) const {
    if (t.kind() != task_kind::compute || t.device != relu.device || t.what != relu.what) {
        return false;
    }
    const op_attributes& a = g_.ops[t.op].attributes;
    const operator_row* const row = row_of(a);
    return row != nullptr && row->takes_relu != nullptr && row->takes_relu(a, t.compute().first_part);
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
