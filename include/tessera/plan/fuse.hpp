// SPDX-License-Identifier: Apache-2.0
// Operators that are expressions, one after the other, become one: a network and a strategy for it are rewritten before
// they are lowered, so that a plan has one task where there were several, and no tiles between them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/net/paths.hpp"
#include "tessera/op/expression/compose.hpp"
#include "tessera/op/expression/fused.hpp"
#include "tessera/strategy/change.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace tessera {

/// A network and a strategy, rewritten. Parameters, and inputs among each other, keep their numbers.
struct fused_network {
    graph network;
    strategy how;
    std::vector<int> ops;           ///< by number here: the operator before, or that whose output this one makes
    std::vector<int> tensors;       ///< by number before: the number here, or -1: it is not made
    std::vector<std::string> names; ///< of operators whose paths would be others here

    fused_network() = default;
    fused_network(fused_network&&) = default;
    fused_network& operator=(fused_network&&) = default;
    fused_network(const fused_network&) = delete; // the network's names lie in it
    fused_network& operator=(const fused_network&) = delete;

    bool is_changed() const { return ops.size() != tensors_made_before(); }

private:
    std::size_t tensors_made_before() const;
};

namespace detail {

/// True where two operators run the same shards on the same devices, in one stage, and are repeated or not.
bool run_alike(const strategy& s, int a, int b);

/// Which operators become one. Those that are expressions, of one configuration and precision, where what is between
/// them is read by none but the last. In training none is taken that would have backward keep more, or write more, than
/// the operators by themselves do.
template <class Graph>
class fuser {
public:
    fuser(const Graph& g, const strategy& s, const std::vector<int>& wanted, bool for_training)
        : g_(g), s_(s), for_training_(for_training), nodes_(to_size(g.op_count)), readers_(to_size(g.tensor_count)),
          savers_(to_size(g.tensor_count)), is_wanted_(to_size(g.tensor_count), 0),
          needs_gradient_(to_size(g.tensor_count), 0) {
        for (const int t : wanted) {
            is_wanted_[to_size(t)] = 1;
        }
        for (int op = 0; op < g_.op_count; ++op) {
            take(op);
        }
    }

    fused_network run() {
        for (int op = g_.op_count; op-- > 0;) {
            while (nodes_[to_size(op)].is_expression && nodes_[to_size(op)].is_there && fuse_into(op)) {
            }
        }
        return rewritten();
    }

private:
    static constexpr char first_slot = 1; ///< in texts: the character of the first input

    struct node {
        bool is_there = true;
        bool is_expression = false;
        bool is_fused = false;
        expression::applied what;
        std::string text;       ///< what it is composed of, with first_slot and so on in the places of its inputs
        std::vector<int> saves; ///< tensors that its backward reads
    };

    const tensor_node& tensor(int t) const { return g_.tensors[t]; }
    index_t volume(int t) const { return tensor(t).extents.volume(); }

    void take(int op) {
        const op_node& o = g_.ops[op];
        const op_record& r = record_of(o.attributes);
        node& n = nodes_[to_size(op)];
        char& needs = needs_gradient_[to_size(o.output)];
        for (const int p : o.parameters) {
            needs = g_.parameters[p].trained ? 1 : needs;
        }
        for (const int t : o.inputs) {
            needs = needs_gradient_[to_size(t)] != 0 ? 1 : needs;
            add_once(readers_[to_size(t)], op);
        }
        n.is_expression = r.formula != nullptr && !r.facts.loss && o.parameters.empty() && !brings_rows(r) &&
                          o.inputs.size() == r.formula->inputs;
        for (const int t : o.inputs) {
            n.is_expression = n.is_expression && tensor(t).type == tensor(o.output).type;
        }
        if (n.is_expression) {
            n.what.of = r.formula;
            n.what.output = o.output;
            n.text = r.name;
            const auto numbers = o.attributes.template as<op::expression_attributes>();
            for (int k = 0; k < r.formula->attributes; ++k) {
                char number[40];
                print_to(number, sizeof number, "%c%.17g", k == 0 ? '[' : ',', numbers.number[k]);
                n.text += number;
                n.what.attributes[k] = numbers.number[k];
            }
            n.text += r.formula->attributes > 0 ? "](" : "(";
            for (int k = 0; k < o.inputs.size(); ++k) {
                n.what.tensors[k] = o.inputs[k];
                n.text += k > 0 ? "," : "";
                n.text += static_cast<char>(first_slot + k);
            }
            n.text += ")";
        }
        n.saves = saved_by(op);
        for (const int t : n.saves) {
            add_once(savers_[to_size(t)], op);
        }
    }
    static bool brings_rows(const op_record& r) {
        bool any = false;
        for (const own_row& row : r.rows) {
            any = any || row.backend != nullptr;
        }
        return any;
    }
    static void add_once(std::vector<int>& to, int x) {
        for (const int y : to) {
            if (x == y) {
                return;
            }
        }
        to.push_back(x);
    }
    static bool has_one(const std::vector<int>& of, int x) {
        for (const int y : of) {
            if (x == y) {
                return true;
            }
        }
        return false;
    }
    static void remove(std::vector<int>& from, int x) {
        for (std::size_t i = 0; i < from.size(); ++i) {
            if (from[i] == x) {
                from.erase(from.begin() + static_cast<std::ptrdiff_t>(i));
                return;
            }
        }
    }

    /// What backward of an operator reads of tensors.
    std::vector<int> saved_by(int op) const {
        const op_node& o = g_.ops[op];
        if (nodes_[to_size(op)].is_expression) {
            return saved_by(nodes_[to_size(op)].what);
        }
        std::vector<int> all;
        const description d = g_.describe(op);
        std::uint32_t reads = 0;
        for (const operand& x : d.operands) {
            const bool wanted = x.kind == operand_kind::input       ? needs_gradient_[to_size(o.inputs[x.slot])] != 0
                                : x.kind == operand_kind::parameter ? g_.parameters[o.parameters[x.slot]].trained
                                                                    : x.kind == operand_kind::intermediate;
            reads |= wanted && needs_gradient_[to_size(o.output)] != 0 ? x.gradient_reads : 0;
        }
        for (int k = 0; k < d.operands.size(); ++k) {
            const operand& x = d.operands[k];
            if (has(reads, k) && (x.kind == operand_kind::input || x.kind == operand_kind::output)) {
                add_once(all, x.kind == operand_kind::input ? o.inputs[x.slot] : o.output);
            }
        }
        return all;
    }
    std::vector<int> saved_by(const expression::applied& x) const {
        std::vector<int> all;
        for (int k = 0; k < x.of->inputs; ++k) {
            const std::uint32_t reads = needs_gradient_[to_size(x.tensors[k])] != 0 ? x.of->reads[k] : 0;
            for (int o = 0; o <= x.of->inputs; ++o) {
                if (has(reads, o)) {
                    add_once(all, o < x.of->inputs ? x.tensors[o] : x.output);
                }
            }
        }
        return all;
    }
    /// Elements of the gradients that backward of an operator writes.
    index_t written_by(const expression::applied& x) const {
        index_t n = 0;
        for (int k = 0; k < x.of->inputs && !x.of->passes_gradient; ++k) {
            n += needs_gradient_[to_size(x.tensors[k])] != 0 ? volume(x.tensors[k]) : 0;
        }
        return n;
    }

    /// Whether the operator that makes `t` may become a part of the only one that reads it.
    bool may_vanish(int t, int last) const {
        const int maker = tensor(t).producer;
        if (maker < 0 || is_wanted_[to_size(t)] != 0 || !nodes_[to_size(maker)].is_expression ||
            readers_[to_size(t)].size() != 1 || readers_[to_size(t)][0] != last) {
            return false;
        }
        const tensor_node& made = g_.output_of(last);
        return tensor(t).extents == made.extents && tensor(t).type == made.type &&
               g_.ops[maker].attributes.math == g_.ops[last].attributes.math && run_alike(s_, maker, last);
    }

    /// Takes as many makers of its inputs as it can into an operator; false: none.
    bool fuse_into(int last) {
        std::vector<int> makers;
        for (int k = 0; k < nodes_[to_size(last)].what.of->inputs; ++k) {
            const int t = nodes_[to_size(last)].what.tensors[k];
            if (may_vanish(t, last)) {
                add_once(makers, tensor(t).producer);
            }
        }
        const unsigned all = (1U << makers.size()) - 1;
        for (int size = static_cast<int>(makers.size()); size > 0; --size) {
            for (unsigned some = all; some > 0; --some) {
                std::vector<int> chosen;
                for (std::size_t i = 0; i < makers.size(); ++i) {
                    if ((some >> i & 1U) != 0) {
                        chosen.push_back(makers[i]);
                    }
                }
                if (static_cast<int>(chosen.size()) == size && fuse(last, chosen)) {
                    return true;
                }
            }
        }
        return false;
    }

    bool fuse(int last, const std::vector<int>& makers) {
        expression::applied each[expression::most_inputs];
        for (std::size_t i = 0; i < makers.size(); ++i) {
            each[i] = nodes_[to_size(makers[i])].what;
        }
        node& n = nodes_[to_size(last)];
        const expression::composition c = expression::compose(n.what, each, static_cast<int>(makers.size()));
        const configuration& how = s_.ops[to_size(last)];
        if (!c.fits || (how.partial > 1 && !c.of.linear)) {
            return false;
        }
        expression::applied x;
        x.of = &c.of;
        x.output = n.what.output;
        for (int k = 0; k < c.of.inputs; ++k) {
            x.tensors[k] = c.tensors[k];
        }
        if (!is_no_loss(last, makers, x)) {
            return false;
        }
        made_.push_back(owned<expression::formula>(new expression::formula(c.of)));
        x.of = made_.back().get();
        n.text = text_of(last, makers, x);
        commit(last, makers, x);
        return true;
    }

    /// Backward keeps and writes no more, and forward keeps no more while other operators run.
    bool is_no_loss(int last, const std::vector<int>& makers, const expression::applied& x) const {
        const auto is_part = [&](int op) { return op == last || has_one(makers, op); };
        const auto size_of = [&](const std::vector<int>& tensors) {
            index_t n = 0;
            for (const int t : tensors) {
                bool anyway = false;
                for (const int op : savers_[to_size(t)]) {
                    anyway = anyway || !is_part(op);
                }
                n += anyway ? 0 : volume(t);
            }
            return n;
        };
        std::vector<int> before = nodes_[to_size(last)].saves;
        index_t written = written_by(nodes_[to_size(last)].what);
        for (const int m : makers) {
            for (const int t : nodes_[to_size(m)].saves) {
                add_once(before, t);
            }
            written += written_by(nodes_[to_size(m)].what);
        }
        const std::vector<int> after = saved_by(x);
        if (for_training_ && (size_of(after) > size_of(before) || written_by(x) > written)) {
            return false;
        }
        for (const int m : makers) {
            bool waits = false; // others run between
            for (int op = m + 1; op < last; ++op) {
                waits = waits || (nodes_[to_size(op)].is_there && !is_part(op));
            }
            index_t longer = 0;
            for (int k = 0; waits && k < nodes_[to_size(m)].what.of->inputs; ++k) {
                const int t = nodes_[to_size(m)].what.tensors[k];
                bool stays = for_training_ && (!savers_[to_size(t)].empty() || has_one(after, t));
                for (const int op : readers_[to_size(t)]) {
                    stays = stays || op > m;
                }
                longer += stays ? 0 : volume(t);
            }
            if (longer > volume(nodes_[to_size(m)].what.output)) {
                return false;
            }
        }
        return true;
    }

    void commit(int last, const std::vector<int>& makers, const expression::applied& x) {
        node& n = nodes_[to_size(last)];
        const auto forget = [&](int op) {
            const node& gone = nodes_[to_size(op)];
            for (int k = 0; k < gone.what.of->inputs; ++k) {
                remove(readers_[to_size(gone.what.tensors[k])], op);
            }
            for (const int t : gone.saves) {
                remove(savers_[to_size(t)], op);
            }
        };
        forget(last);
        for (const int m : makers) {
            forget(m);
            nodes_[to_size(m)].is_there = false;
        }
        n.what = x;
        n.is_fused = true;
        n.saves = saved_by(x);
        for (int k = 0; k < x.of->inputs; ++k) {
            add_once(readers_[to_size(x.tensors[k])], last);
        }
        for (const int t : n.saves) {
            add_once(savers_[to_size(t)], last);
        }
    }

    /// The text of an operator with those of its makers in their places.
    std::string text_of(int last, const std::vector<int>& makers, const expression::applied& made) const {
        constexpr std::size_t longest = 160;
        const auto slot_of = [&](int t) {
            int k = 0;
            while (made.tensors[k] != t) {
                ++k;
            }
            return static_cast<char>(first_slot + k);
        };
        const auto is_slot = [](char c) { return c >= first_slot && c < first_slot + expression::most_inputs; };
        std::string text;
        const node& n = nodes_[to_size(last)];
        for (const char c : n.text) {
            const int t = is_slot(c) ? n.what.tensors[c - first_slot] : -1;
            const int maker = t < 0 ? -1 : tensor(t).producer;
            if (t < 0) {
                text += c;
            } else if (maker < 0 || !has_one(makers, maker)) {
                text += slot_of(t);
            } else {
                for (const char inner : nodes_[to_size(maker)].text) {
                    text += is_slot(inner) ? slot_of(nodes_[to_size(maker)].what.tensors[inner - first_slot]) : inner;
                }
            }
        }
        if (text.size() > longest) {
            char hash[32];
            std::snprintf(hash, sizeof hash, "fused_%016llx(", static_cast<unsigned long long>(hash_text(text)));
            text = hash;
            for (int k = 0; k < made.of->inputs; ++k) {
                text += k > 0 ? "," : "";
                text += static_cast<char>(first_slot + k);
            }
            text += ")";
        }
        return text;
    }
    /// The name of an operator: inputs as numbers from 0.
    static std::string name_of(const node& n) {
        std::string name;
        for (const char c : n.text) {
            name += c >= first_slot && c < first_slot + expression::most_inputs
                        ? static_cast<char>('0' + c - first_slot)
                        : c;
        }
        return name;
    }

    fused_network rewritten() const {
        fused_network r;
        r.how = s_;
        r.how.ops.clear();
        r.network.parameters.assign(g_.parameters, g_.parameters + g_.parameter_count);
        for (int t = 0; t < g_.tensor_count; ++t) {
            const int maker = tensor(t).producer;
            const bool is_there = maker < 0 || nodes_[to_size(maker)].is_there;
            r.tensors.push_back(is_there ? static_cast<int>(r.network.tensors.size()) : -1);
            if (is_there) {
                r.network.tensors.push_back(tensor(t));
            }
        }
        for (int op = 0; op < g_.op_count; ++op) {
            const node& n = nodes_[to_size(op)];
            if (!n.is_there) {
                continue;
            }
            op_node o = g_.ops[op];
            if (n.is_fused) {
                op_attributes a{.kind = {&op::fused_record(name_of(n), *n.what.of)}};
                a.math = o.attributes.math;
                o.attributes = a;
                o.inputs = {};
                for (int k = 0; k < n.what.of->inputs; ++k) {
                    o.inputs.push_back(n.what.tensors[k]);
                }
            }
            for (int& t : o.inputs) {
                t = r.tensors[to_size(t)];
            }
            o.number = g_.number_of(op);
            o.output = r.tensors[to_size(o.output)];
            r.network.tensors[to_size(o.output)].producer = static_cast<int>(r.ops.size());
            r.network.ops.push_back(o);
            r.how.ops.push_back(s_.ops[to_size(op)]);
            r.ops.push_back(op);
        }
        keep_paths(r);
        return r;
    }

    /// Operators are numbered among those of their name, and some have gone: what would have another path is given its
    /// path as a name.
    void keep_paths(fused_network& r) const {
        if (!r.is_changed()) {
            return;
        }
        const network_paths before = paths_of(g_);
        const network_paths after = paths_of(r.network.view());
        r.names.reserve(r.ops.size());
        for (std::size_t i = 0; i < r.ops.size(); ++i) {
            const std::string& path = before.op(r.ops[i]);
            if (path != after.ops[i]) {
                r.names.push_back(path);
                r.network.ops[i].name = r.names.back();
                r.network.ops[i].full_name = {};
            }
        }
    }

    const Graph& g_;
    const strategy& s_;
    bool for_training_;
    std::vector<node> nodes_;               ///< by operator
    std::vector<std::vector<int>> readers_; ///< operators, by tensor
    std::vector<std::vector<int>> savers_;  ///< operators whose backward reads it, by tensor
    std::vector<char> is_wanted_;
    std::vector<char> needs_gradient_;
    std::vector<owned<expression::formula>> made_;
};

} // namespace detail

/// `g` and `s` with operators fused. The tensors `wanted` are made as before. (A template so that it is compiled where
/// it is used.)
template <class Graph>
fused_network fuse(const Graph& g, const strategy& s, const std::vector<int>& wanted = {}, bool for_training = true) {
    return detail::fuser<Graph>(g, s, wanted, for_training).run();
}

/// The same as it is, with every operator by itself.
template <class Graph>
fused_network not_fused(const Graph& g, const strategy& s) {
    fused_network r;
    r.how = s;
    r.network.parameters.assign(g.parameters, g.parameters + g.parameter_count);
    r.network.tensors.assign(g.tensors, g.tensors + g.tensor_count);
    r.network.ops.assign(g.ops, g.ops + g.op_count);
    for (int op = 0; op < g.op_count; ++op) {
        r.ops.push_back(op);
    }
    for (int t = 0; t < g.tensor_count; ++t) {
        r.tensors.push_back(t);
    }
    return r;
}

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/fuse.inl"
#endif

#include "tessera/base/end_header.inl"
