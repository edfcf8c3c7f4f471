// SPDX-License-Identifier: Apache-2.0
// Bodies of pieces.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/pieces.hpp"

namespace tessera::detail {

TESSERA_INLINE std::uint64_t cell::hash() const {
    std::uint64_t h = static_cast<std::uint64_t>(axes);
    for (int i = 0; i < axes; ++i) {
        h = op::mix(h ^ static_cast<std::uint64_t>(at[i].begin));
        h = op::mix(h ^ static_cast<std::uint64_t>(at[i].end));
    }
    return h;
}

/// Notes descriptions, which gradients flow, and the tasks and pieces of every tensor.
TESSERA_INLINE void verifier::prepare() {
    needs_gradient_.assign(to_size(g_.tensor_count), 0);
    for (int t = 0; t < g_.tensor_count; ++t) {
        needs_gradient_[to_size(t)] = p_.output_gradient >= 0 && t != p_.output_gradient &&
                                      g_.tensors[t].producer < 0 && g_.tensors[t].type != element::i32;
    }
    for (int op = 0; op < g_.op_count; ++op) {
        const description& d = desc(op);
        reduced_.emplace_back();
        gradients_of_.emplace_back();
        bool needs = false;
        for (const int p : g_.ops[op].parameters) {
            needs = needs || g_.parameters[p].trained;
        }
        for (const operand& x : d.operands) {
            needs = needs || (x.kind == operand_kind::input && x.differentiable &&
                              needs_gradient_[to_size(g_.ops[op].inputs[x.slot])] != 0);
        }
        needs_gradient_[to_size(g_.ops[op].output)] = needs;
        for (int k = 0; k < d.nests.size(); ++k) {
            std::uint32_t wanted = 0;
            for (int o = 0; o < d.operands.size(); ++o) {
                wanted |= is_wanted(op, o) ? bit(o) : 0;
            }
            reduced_.back().push_back(reduced_loops(d, k));
            gradients_of_.back().push_back(
                {tessera::gradients_of(d, k, true) & wanted, tessera::gradients_of(d, k, false) & wanted});
        }
    }
    has_gradient_.assign(to_size(g_.op_count), 0);
    std::vector<char> flows(to_size(g_.tensor_count), 0); // some gradient reaches it
    if (p_.output_gradient >= 0) {
        flows[to_size(g_.ops[g_.op_count - 1].output)] = 1;
    }
    for (int op = g_.op_count; op-- > 0 && p_.kind == run_kind::training;) {
        const int out = g_.ops[op].output;
        has_gradient_[to_size(op)] =
            needs_gradient_[to_size(out)] != 0 && (flows[to_size(out)] != 0 || g_.is_loss(op)) ? 1 : 0;
        for (int o = 0; o < desc(op).operands.size() && has_gradient_[to_size(op)] != 0; ++o) {
            if (desc(op).operands[o].kind == operand_kind::input && is_wanted(op, o)) {
                flows[to_size(g_.ops[op].inputs[desc(op).operands[o].slot])] = 1;
            }
        }
    }
    tasks_of_.assign(to_size(g_.op_count), {});
    for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
        const task& t = p_.tasks[to_size(i)];
        if (t.kind() == task_kind::compute && t.what != pass::update) {
            tasks_of_[to_size(t.op)].push_back(i);
        }
    }
    collect_pieces();
}

/// True for an operand that gets a gradient, if its operator's output has one.
TESSERA_INLINE bool verifier::is_wanted(int op, int o) const {
    const operand& x = desc(op).operands[o];
    switch (x.kind) {
    case operand_kind::input:
        return x.differentiable && needs_gradient_[to_size(g_.ops[op].inputs[x.slot])] != 0;
    case operand_kind::parameter:
        return g_.parameters[g_.ops[op].parameters[x.slot]].trained;
    case operand_kind::intermediate:
        return x.differentiable;
    default:
        return false;
    }
}

/// Every tile that a computation makes, or that is another name for what another operator has made.
TESSERA_INLINE void verifier::collect_pieces() {
    for (const task& t : p_.tasks) {
        for (int o = 0; o < max_operands && t.kind() == task_kind::compute && t.what != pass::update; ++o) {
            const bool emitted = has(t.compute().emits, o) && t.compute().gradient[o] >= 0;
            const int x = is_backward(t.what) ? (emitted ? t.compute().gradient[o] : -1) : t.compute().value[o];
            const bool writes = x >= 0 && t.compute().turn <= 0 && // later turns add to what the first one makes
                                (is_backward(t.what) || is_written(t, o));
            if (writes && p_.tiles[to_size(x)].kind != tile_kind::parameter_gradient) {
                pieces_.push_back(
                    {piece_key(p_.tiles[to_size(x)]), x, source_of(t, o), is_backward(t.what) ? t.op : -1, o});
            }
        }
    }
    for (int i = 0; i < static_cast<int>(p_.tiles.size()); ++i) {
        const tile& x = p_.tiles[to_size(i)];
        const bool names = x.kind == tile_kind::activation || x.kind == tile_kind::gradient;
        if (names && x.alias >= 0 && x.summand >= 0 && x.origin < 0) {
            const int base = renamed(i);
            const int op = base < 0 ? -1 : g_.tensors[p_.tiles[to_size(base)].tensor].producer;
            if (base >= 0 && x.kind == tile_kind::activation ? renames(x) : base >= 0 && op >= 0) {
                pieces_.push_back({piece_key(x), i, 0, x.kind == tile_kind::gradient ? op : -1, -1});
            }
        }
    }
    std::sort(pieces_.begin(), pieces_.end(), [this](const made_piece& a, const made_piece& b) {
        const index_t x = first_of(a);
        const index_t y = first_of(b);
        return a.key != b.key ? a.key < b.key : x != y ? x < y : a.tile < b.tile;
    });
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        const tile& x = p_.tiles[to_size(pieces_[i].tile)];
        const index_t extent = x.region.rank > 0 ? x.region.dim[0].size() : 1;
        if (heads_.empty() || heads_.back().key != pieces_[i].key) {
            heads_.push_back({pieces_[i].key, i, i, 0, x.summand, x.summand});
        }
        piece_range& h = heads_.back();
        h.end = i + 1;
        h.longest = std::max(h.longest, extent);
        h.least_part = std::min(h.least_part, x.summand);
        h.largest_part = std::max(h.largest_part, x.summand);
    }
}

TESSERA_INLINE bool verifier::is_written(const task& t, int o) const {
    for (int k = std::max(t.compute().first_nest, 0); k <= t.compute().last_nest && k < desc(t.op).nests.size(); ++k) {
        if (desc(t.op).nests[k].write == o) {
            return true;
        }
    }
    return false;
}

/// The tile of another tensor that an alias is a name for; -1: of its own tensor.
TESSERA_INLINE int verifier::renamed(int i) const {
    int base = p_.tiles[to_size(i)].alias;
    while (base >= 0 && p_.tiles[to_size(base)].tensor == p_.tiles[to_size(i)].tensor) {
        base = p_.tiles[to_size(base)].alias;
    }
    return base >= 0 && p_.tiles[to_size(base)].kind == p_.tiles[to_size(i)].kind ? base : -1;
}

/// True for the output of a flattening.
TESSERA_INLINE bool verifier::renames(const tile& x) const {
    const int op = g_.tensors[x.tensor].producer;
    return op >= 0 && g_.facts(op).view;
}

/// Which summand, and of what, a computation makes: equal for copies of one shard's.
TESSERA_INLINE std::uint64_t verifier::source_of(const task& t, int o) const {
    cell c;
    const description& d = desc(t.op);
    for (int l = 0; l < d.loops.size(); ++l) {
        c.at[c.axes++] = range_in(t, l);
    }
    std::uint64_t h = c.hash();
    int part = -1;
    if (!is_backward(t.what)) { // a linear operator passes the parts of its input on one by one
        for (int i = 0; i < d.operands.size() && d.linear; ++i) {
            const int x = d.operands[i].kind == operand_kind::input ? t.compute().value[i] : -1;
            part = x >= 0 ? std::max(part, p_.tiles[to_size(x)].summand) : part;
        }
        if (d.linear && t.compute().value[o] >= 0 && sees_nothing(t)) { // of whose inputs there is no part to read
            part = p_.tiles[to_size(t.compute().value[o])].summand;
        }
        part = std::max(part, 0);
    }
    h = op::mix(h ^ static_cast<std::uint64_t>(part + 1));
    return op::mix(h ^ static_cast<std::uint64_t>((t.micro_batch * max_operands + o) * 65536 + t.op));
}

TESSERA_INLINE index_t verifier::first_of(const made_piece& x) const {
    const box& b = p_.tiles[to_size(x.tile)].region;
    return b.rank > 0 ? b.dim[0].begin : 0;
}

/// What pieces of one tensor have in common.
TESSERA_INLINE std::uint64_t verifier::piece_key(const tile& x) {
    std::uint64_t h = static_cast<std::uint64_t>(x.kind) + 16U * static_cast<std::uint64_t>(x.tensor + 1);
    h = op::mix(h ^ (static_cast<std::uint64_t>(x.micro_batch + 1) << 20U));
    return op::mix(h ^ static_cast<std::uint64_t>(x.step) ^ (static_cast<std::uint64_t>(x.replica) << 20U));
}

TESSERA_INLINE typename verifier::piece_range verifier::pieces_of(std::uint64_t key) const {
    const auto found = std::lower_bound(heads_.begin(), heads_.end(), key,
                                        [](const piece_range& h, std::uint64_t k) { return h.key < k; });
    return found != heads_.end() && found->key == key ? *found : piece_range{};
}

/// True for a tile that holds the sum of all parts of its region: what others have made of it are copies.
TESSERA_INLINE bool verifier::is_complete(const tile& x) const {
    if (x.summand < 0) {
        return true;
    }
    const piece_range all = pieces_of(piece_key(x));
    if (all.begin == all.end) {
        return false;
    }
    if (all.least_part == all.largest_part) {
        return x.summand == all.least_part;
    }
    const interval own = x.region.rank > 0 ? x.region.dim[0] : interval{0, 1};
    const auto from = std::lower_bound(pieces_.begin() + static_cast<std::ptrdiff_t>(all.begin),
                                       pieces_.begin() + static_cast<std::ptrdiff_t>(all.end), own.begin - all.longest,
                                       [this](const made_piece& p, index_t begin) { return first_of(p) <= begin; });
    bool found = false;
    for (auto p = from; p != pieces_.begin() + static_cast<std::ptrdiff_t>(all.end) && first_of(*p) < own.end; ++p) {
        const tile& y = p_.tiles[to_size(p->tile)];
        if (intersect(y.region, x.region).empty()) {
            continue;
        }
        if (y.summand != x.summand) {
            return false;
        }
        found = true;
    }
    return found;
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
