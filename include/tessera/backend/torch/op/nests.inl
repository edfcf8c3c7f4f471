// SPDX-License-Identifier: Apache-2.0
// Bodies of nests.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/op/nests.hpp"

namespace tessera::torch::detail {

TESSERA_INLINE nest_text::nest_text(const shard_text& s) : s_(s), p_(nests::program_of(s.attributes(), *s.d)) {
    s.attributes().kind.record->generated->scalars(s.attributes(), *s.d, scalars_);
}

TESSERA_INLINE std::string nest_text::refusal() const {
    for (int k = 0; k < p_.forward.size(); ++k) {
        if (is_needed(k) && has(p_.forward[k].inside, p_.forward[k].target)) {
            return "it writes to windows";
        }
    }
    for (const nests::scalar& x : p_.scalars) {
        if (x.kind == nests::scalar_kind::index && counts_samples(x.loop) && s_.micro_batches > 1) {
            return "it counts samples, of which a micro-batch has some";
        }
    }
    return "";
}

TESSERA_INLINE std::string nest_text::lines() {
    std::string all;
    for (int k = 0; k < p_.forward.size(); ++k) {
        if (!is_needed(k)) {
            continue;
        }
        const int to = p_.forward[k].target;
        const std::string name = to == s_.d->output() ? s_.out : derived(s_.out, "nest" + std::to_string(k));
        std::string before;
        const std::string result = pass(k, name, before);
        all += joined({before, name, " = ", result, to == s_.d->output() ? "" : "\n"});
        s_.value[to_size(to)] = name;
    }
    return all;
}

TESSERA_INLINE std::string nest_text::one(int k) {
    std::string before;
    return pass(k, "", before);
}

TESSERA_INLINE bool nest_text::can_be_taken_apart() const {
    for (int k = 0; k < p_.forward.size(); ++k) {
        const nests::nest_pass& pass = p_.forward[k];
        if (!is_needed(k) || (pass.reduce == reducer::max && p_.d.operands[pass.target].differentiable)) {
            return false;
        }
    }
    return true;
}

TESSERA_INLINE std::string nest_text::tuple(const std::vector<std::string>& of) {
    return tuple_of(static_cast<int>(of.size()), [&](int i) { return of[to_size(i)]; });
}

TESSERA_INLINE int nest_text::position_of(std::uint32_t loops, int loop) {
    return static_cast<int>(__builtin_popcount(loops & (bit(loop) - 1U)));
}

TESSERA_INLINE bool nest_text::is_needed(int k) const {
    const int to = p_.forward[k].target;
    bool read = to == p_.d.output();
    for (int later = k + 1; later < p_.forward.size(); ++later) {
        read = read || (has(p_.forward[later].values, to) && is_needed(later));
    }
    return read;
}

TESSERA_INLINE std::string nest_text::index_text(const affine& a, const nests::nest_pass& pass) const {
    index_t first = a.offset;
    std::vector<std::string> terms;
    for (const affine::term& t : a.terms) {
        first += t.coefficient * s_.ranges[t.loop].begin;
        terms.push_back("(" + std::to_string(position_of(pass.loops, t.loop)) + ", " + std::to_string(t.coefficient) +
                        ")");
    }
    return "(" + std::to_string(first) + ", " + tuple(terms) + ")";
}

TESSERA_INLINE std::string nest_text::indices_text(int o, const nests::nest_pass& pass) const {
    const operand& x = s_.d->operands[o];
    return tuple_of(x.extents.rank, [&](int d) { return index_text(x.dim[d], pass); });
}

TESSERA_INLINE std::string nest_text::sizes(const nests::nest_pass& pass) const {
    return of_loops(pass.loops, [&](int l) { return std::to_string(s_.ranges[l].size()); });
}

TESSERA_INLINE std::string nest_text::operand_text(int o, const nests::nest_pass& pass) const {
    const operand& x = s_.d->operands[o];
    const std::string& name = s_.value[to_size(o)];
    const int rank = __builtin_popcount(pass.loops);
    std::vector<std::string> places;
    bool as_it_is = x.extents.rank == rank;
    std::uint32_t seen = 0;
    bool plain = !nests::is_window(x);
    for (int d = 0; d < x.extents.rank; ++d) {
        const int loop = x.dim[d].terms.empty() ? -1 : x.dim[d].terms[0].loop;
        const int place = loop < 0 ? -1 : position_of(pass.loops, loop);
        plain = plain && (loop < 0 || !has(seen, loop)); // of x[i, i] an index picks the diagonal
        seen |= loop < 0 ? 0 : bit(loop);
        as_it_is = as_it_is && place == d;
        places.push_back(std::to_string(place));
    }
    if (plain) {
        return as_it_is ? name : "rt.spread(" + name + ", " + tuple(places) + ", " + std::to_string(rank) + ")";
    }
    const box& own = s_.region[to_size(o)];
    return "rt.points(" + name + ", " + indices_text(o, pass) + ", " +
           tuple_of(own.rank, [&](int d) { return std::to_string(own.dim[d].begin); }) + ", " + sizes(pass) + ")";
}

TESSERA_INLINE std::string nest_text::scalar_text(int i, const nests::nest_pass& pass) const {
    const nests::scalar& x = p_.scalars[i];
    if (x.kind != nests::scalar_kind::index) {
        return text_of(scalars_[i]);
    }
    const interval range = s_.ranges[x.loop];
    return "rt.counted(" + std::to_string(range.begin) + ", " + std::to_string(range.end) + ", " +
           std::to_string(position_of(pass.loops, x.loop)) + ", " + std::to_string(__builtin_popcount(pass.loops)) +
           ", " + device() + ")";
}

TESSERA_INLINE std::uint32_t nest_text::covered(const nests::nest_pass& pass) const {
    std::uint32_t loops = 0;
    const std::uint64_t needed = expression::nodes_for(pass.nodes, pass.root);
    for (int i = 0; i <= pass.root; ++i) {
        const expression::node& n = pass.nodes.nodes[i];
        if ((needed >> static_cast<unsigned>(i) & 1U) == 0) {
            continue;
        }
        loops |= nests::is_operand(n) ? nests::loops_of(s_.d->operands[n.of[0]]) : 0;
        if (nests::is_scalar(n)) {
            const nests::scalar& x = p_.scalars[n.of[0] - nests::first_scalar];
            loops |= x.kind == nests::scalar_kind::index ? bit(x.loop) : 0;
        }
    }
    return loops;
}

TESSERA_INLINE std::string nest_text::pass(int k, const std::string& stem, std::string& before) {
    const nests::nest_pass& pass = p_.forward[k];
    const auto leaf = [&](const expression::node& n) {
        return nests::is_scalar(n) ? scalar_text(n.of[0] - nests::first_scalar, pass) : operand_text(n.of[0], pass);
    };
    const auto is_number = [&](const expression::node& n) {
        return nests::is_scalar(n) && p_.scalars[n.of[0] - nests::first_scalar].kind != nests::scalar_kind::index;
    };
    std::string text = tape_text(pass.nodes, pass.root, stem, leaf, is_number).expression(before);
    const std::uint32_t has_dimensions = covered(pass);
    if ((pass.loops & ~has_dimensions) != 0) { // the same at every point of a loop
        text = "torch.as_tensor(" + text + ", device=" + device() + ").expand" + of_loops(pass.loops, [&](int l) {
                   return has(has_dimensions, l) ? std::string("-1") : std::to_string(s_.ranges[l].size());
               });
    }
    return laid_out(reduced(with_windows(std::move(text), pass), pass), pass);
}

TESSERA_INLINE std::string nest_text::with_windows(std::string text, const nests::nest_pass& pass) const {
    for (int o = 0; o < s_.d->operands.size(); ++o) {
        if (has(pass.inside, o)) {
            text = joined({"torch.where(rt.inside(", indices_text(o, pass), ", ", text_of(s_.d->operands[o].extents),
                           ", ", sizes(pass), ", ", device(), "), ", text, ", ",
                           pass.reduce == reducer::max ? "float(\"-inf\")" : "0.0", ")"});
        }
    }
    return text;
}

TESSERA_INLINE std::string nest_text::reduced(const std::string& text, const nests::nest_pass& pass) const {
    const std::uint32_t over = pass.loops & ~nests::loops_of(s_.d->operands[pass.target]);
    if (over == 0 || pass.reduce == reducer::none) {
        return text;
    }
    return (pass.reduce == reducer::max ? "rt.first_largest(" : "rt.total(") + text + ", " +
           of_loops(over, [&](int l) { return std::to_string(position_of(pass.loops, l)); }) + ")";
}

TESSERA_INLINE std::string nest_text::laid_out(std::string text, const nests::nest_pass& pass) const {
    const operand& x = s_.d->operands[pass.target];
    const std::uint32_t left = nests::loops_of(x);
    std::vector<std::string> order;
    bool as_it_is = true;
    for (int d = 0; d < x.extents.rank; ++d) {
        if (!x.dim[d].terms.empty()) {
            const int from = position_of(left, x.dim[d].terms[0].loop);
            as_it_is = as_it_is && from == static_cast<int>(order.size());
            order.push_back(std::to_string(from));
        }
    }
    text = as_it_is ? text : text + ".permute" + tuple(order);
    for (int d = 0; d < x.extents.rank; ++d) {
        if (x.dim[d].terms.empty()) {
            text += joined({".unsqueeze(", std::to_string(d), ")"});
        }
    }
    return x.type != element::f64 && is_double(pass) ? text + ".float()" : text;
}

TESSERA_INLINE bool nest_text::is_double(const nests::nest_pass& pass) const {
    bool any = pass.reduce == reducer::sum;
    for (int o = 0; o < s_.d->operands.size(); ++o) {
        any = any || (has(pass.values, o) && s_.d->operands[o].type == element::f64);
    }
    return any;
}

TESSERA_INLINE std::string nest_line(const shard_text& s, std::string& why) {
    nest_text text(s);
    const std::string refused = text.refusal();
    if (!refused.empty()) {
        why = refused;
        return "";
    }
    return text.lines();
}

TESSERA_INLINE std::string nest_pass_line(const shard_text& s, int nest, std::string& why) {
    nest_text text(s);
    why = !text.can_be_taken_apart() ? "it is split along a loop whose largest number its shards find together"
                                     : text.refusal();
    return why.empty() ? text.one(nest) : "";
}

} // namespace tessera::torch::detail

#include "tessera/base/end_header.inl"
