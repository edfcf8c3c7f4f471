// SPDX-License-Identifier: Apache-2.0
// Bodies of formulas.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/op/formulas.hpp"

namespace tessera::torch::detail {

TESSERA_INLINE tape_text::tape_text(const expression::tape& nodes, int root, std::string stem, leaf_text leaf,
                                    leaf_kind is_number)
    : nodes_(nodes), root_(root), stem_(std::move(stem)), leaf_(leaf), is_number_(is_number) {
    const std::uint64_t needed = expression::nodes_for(nodes_, root_);
    for (int i = 0; i < nodes_.count; ++i) {
        for (int k = 0;
             k < expression::operands_of(nodes_.nodes[i].what) && (needed >> static_cast<unsigned>(i) & 1U) != 0; ++k) {
            ++readers_[nodes_.nodes[i].of[k]];
        }
    }
}

TESSERA_INLINE std::string tape_text::expression(std::string& before) {
    std::string result = text(root_);
    before += before_;
    return result;
}

TESSERA_INLINE std::string tape_text::text(int i) {
    const expression::node& n = nodes_.nodes[i];
    if (is_leaf(n) || readers_[i] < 2 || stem_.empty()) {
        return written(n);
    }
    if (names_[i].empty()) {
        const std::string value = written(n);
        names_[i] = derived(stem_, "n" + std::to_string(i));
        before_ += names_[i] + " = " + value + "\n";
    }
    return names_[i];
}

TESSERA_INLINE bool tape_text::is_number(int i) const {
    const expression::node& n = nodes_.nodes[i];
    return n.what == expression::opcode::constant || (is_leaf(n) && is_number_(n));
}

TESSERA_INLINE bool tape_text::needs_tensor(int i) const {
    const expression::node& n = nodes_.nodes[i];
    bool numbers = is_leaf(n) ? is_number(i) : true;
    for (int k = 0; k < expression::operands_of(n.what); ++k) {
        numbers = numbers && needs_tensor(n.of[k]);
    }
    return numbers;
}

TESSERA_INLINE std::string tape_text::extreme(const expression::node& n, const char* name, const char* bound) {
    const int number = is_number(n.of[0]) ? 0 : is_number(n.of[1]) ? 1 : -1;
    const std::string a = text(n.of[0]);
    const std::string b = text(n.of[1]);
    return number < 0 ? std::string("torch.") + name + "(" + a + ", " + b + ")"
                      : "torch.clamp(" + (number == 0 ? b : a) + ", " + bound + "=" + (number == 0 ? a : b) + ")";
}

TESSERA_INLINE std::string tape_text::written(const expression::node& n) {
    using expression::opcode;
    if (is_leaf(n)) {
        return n.what == opcode::constant ? text_of(n.constant) : leaf_(n);
    }
    const auto infix = [&](const char* sign) { return "(" + text(n.of[0]) + sign + text(n.of[1]) + ")"; };
    const auto call = [&](const std::string& name) {
        return name + (needs_tensor(n.of[0]) ? "(torch.tensor(" + text(n.of[0]) + ", dtype=torch.float64))"
                                             : "(" + text(n.of[0]) + ")");
    };
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

TESSERA_INLINE std::string formula_line(const shard_text& s, std::string&) {
    const expression::formula& f = *record_of(s.attributes()).formula;
    const auto attributes = s.as<op::expression_attributes>();
    const int rank = s.output_extents().rank;
    const auto leaf = [&](const expression::node& n) {
        if (n.what == expression::opcode::attribute) {
            return text_of(attributes.number[n.of[0]]);
        }
        const std::string& x = s.input(n.of[0]);
        return s.input_extents(n.of[0]).rank == rank ? x : "rt.align(" + x + ", " + std::to_string(rank) + ")";
    };
    const auto is_number = [](const expression::node& n) { return n.what == expression::opcode::attribute; };
    std::string lines;
    const std::string result = tape_text(f.nodes, f.result, s.out, leaf, is_number).expression(lines);
    return lines + assign(s, result);
}

} // namespace tessera::torch::detail

#include "tessera/base/end_header.inl"
