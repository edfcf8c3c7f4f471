// SPDX-License-Identifier: Apache-2.0
// Operators and losses that are expressions, element by element: their tapes as Python.
#pragma once

#include "tessera/backend/torch/shard_text.hpp"
#include "tessera/op/expression/record.hpp"

namespace tessera::torch::detail {

/// Writes a tape down. A node that several read gets a variable of its own.
class formula_text {
public:
    explicit formula_text(const shard_text& s)
        : s_(s), f_(*record_of(s.attributes()).formula), attributes_(s.as<op::expression_attributes>()) {
        const std::uint64_t needed = expression::nodes_for(f_.nodes, f_.result);
        for (int i = 0; i < f_.nodes.count; ++i) {
            for (int k = 0;
                 k < expression::operands_of(f_.nodes.nodes[i].what) && (needed >> static_cast<unsigned>(i) & 1U) != 0;
                 ++k) {
                ++readers_[f_.nodes.nodes[i].of[k]];
            }
        }
    }

    std::string lines() {
        const std::string result = text(f_.result);
        return before_ + assign(s_, result);
    }

private:
    static bool is_leaf(const expression::node& n) { return expression::operands_of(n.what) == 0; }

    std::string text(int i) {
        const expression::node& n = f_.nodes.nodes[i];
        if (is_leaf(n) || readers_[i] < 2) {
            return written(n);
        }
        if (names_[i].empty()) {
            const std::string value = written(n);
            names_[i] = derived(s_.out, "n" + std::to_string(i));
            before_ += names_[i] + " = " + value + "\n";
        }
        return names_[i];
    }

    std::string leaf(const expression::node& n) {
        if (n.what == expression::opcode::constant) {
            return text_of(n.constant);
        }
        if (n.what == expression::opcode::attribute) {
            return text_of(attributes_.number[n.of[0]]);
        }
        const int rank = s_.output_extents().rank;
        const std::string& x = s_.input(n.of[0]);
        return s_.input_extents(n.of[0]).rank == rank ? x : "rt.align(" + x + ", " + std::to_string(rank) + ")";
    }

    bool is_number(int i) const {
        const expression::opcode what = f_.nodes.nodes[i].what;
        return what == expression::opcode::constant || what == expression::opcode::attribute;
    }

    /// The larger or smaller of two, one of which may be a number.
    std::string extreme(const expression::node& n, const char* name, const char* bound) {
        const int number = is_number(n.of[0]) ? 0 : is_number(n.of[1]) ? 1 : -1;
        const std::string a = text(n.of[0]);
        const std::string b = text(n.of[1]);
        return number < 0 ? std::string("torch.") + name + "(" + a + ", " + b + ")"
                          : "torch.clamp(" + (number == 0 ? b : a) + ", " + bound + "=" + (number == 0 ? a : b) + ")";
    }

    std::string written(const expression::node& n) {
        using expression::opcode;
        if (is_leaf(n)) {
            return leaf(n);
        }
        const auto infix = [&](const char* sign) { return "(" + text(n.of[0]) + sign + text(n.of[1]) + ")"; };
        const auto call = [&](const std::string& name) { return name + "(" + text(n.of[0]) + ")"; };
        switch (n.what) {
        case opcode::add:
            return infix(" + ");
        case opcode::subtract:
            return infix(" - ");
        case opcode::multiply:
            return infix(" * ");
        case opcode::divide:
            return infix(" / ");
        case opcode::less:
            return infix(" < ");
        case opcode::less_equal:
            return infix(" <= ");
        case opcode::equal:
            return infix(" == ");
        case opcode::pow:
            return infix(" ** ");
        case opcode::negate:
            return "(-" + text(n.of[0]) + ")";
        case opcode::select:
            return "rt.select(" + text(n.of[0]) + ", " + text(n.of[1]) + ", " + text(n.of[2]) + ")";
        case opcode::min:
            return extreme(n, "minimum", "max");
        case opcode::max:
            return extreme(n, "maximum", "min");
        case opcode::softplus:
            return call("F.softplus");
        case opcode::normal:
            return call("torch.special.ndtr");
        case opcode::stop_gradient:
            return "(" + text(n.of[0]) + ").detach()";
        case opcode::straight_through: {
            return "rt.straight_through(" + text(n.of[0]) + ", " + text(n.of[1]) + ")";
        }
        default:
            return call(std::string("torch.") + name_of(n.what));
        }
    }

    static const char* name_of(expression::opcode what) {
#define TESSERA_EXPRESSION_NODE(name, operands, flops) #name,
        static constexpr const char* names[] = {TESSERA_EXPRESSION_NODES(TESSERA_EXPRESSION_NODE)};
#undef TESSERA_EXPRESSION_NODE
        return names[static_cast<int>(what)];
    }

    const shard_text& s_;
    const expression::formula& f_;
    op::expression_attributes attributes_;
    int readers_[expression::max_nodes] = {};
    std::string names_[expression::max_nodes];
    std::string before_;
};

inline std::string formula_line(const shard_text& s, std::string&) { return formula_text(s).lines(); }

} // namespace tessera::torch::detail
