// SPDX-License-Identifier: Apache-2.0
// Bodies of formula_steps.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/formula_steps.hpp"

namespace tessera::host {

TESSERA_INLINE formula_steps::formula_steps(const expression::formula& f,
                                            const fixed_vector<int, expression::most_inputs>& roots,
                                            const op_attributes& of)
    : roots_(roots.size()) {
    expression::formula all = f;
    for (const int root : roots) { // one that is given the result gives it to all
        for (int k = 0; f.reads_result(root) && k < f.inputs; ++k) {
            all.reads[k] |= bit(f.inputs);
        }
    }
    compile(all, roots, attributes_as_floats(of));
    numbers_.resize(to_size(slots_) * stride + 16);
    for (const constant& c : constants_) {
        std::fill_n(slot(c.place), most, c.number);
    }
}

TESSERA_INLINE void formula_steps::run(const float* const* from, float* const* to, std::ptrdiff_t count) {
    float* places[most_places] = {};
    for (int k = 0; k < slots_; ++k) {
        places[first_slot + k] = slot(first_slot + k);
    }
    if (loss_gradient_ >= 0) {
        std::fill_n(slot(loss_gradient_), most, *from[loss_leaf_]);
    }
    // What is written must not be read again by a later step of the same elements.
    bool is_apart[expression::most_inputs] = {};
    for (int r = 0; r < roots_; ++r) {
        for (int k = 0; k < leaves && roots_ > 1; ++k) {
            is_apart[r] = is_apart[r] || (from[k] != nullptr && from[k] == to[r]);
        }
    }
    for (std::ptrdiff_t begin = 0; begin < count; begin += most) {
        const std::ptrdiff_t some = std::min(most, count - begin);
        for (int k = 0; k < leaves; ++k) { // steps do not write there
            places[k] = from[k] == nullptr ? nullptr : const_cast<float*>(from[k]) + begin;
        }
        for (int r = 0; r < roots_; ++r) {
            places[leaves + r] = is_apart[r] ? slot(apart_[r]) : to[r] + begin;
        }
        kernels::run_steps(steps_.data(), static_cast<int>(steps_.size()), places, some);
        for (int r = 0; r < roots_; ++r) {
            if (is_apart[r]) {
                std::copy_n(slot(apart_[r]), some, to[r] + begin);
            }
        }
    }
}

TESSERA_INLINE float* formula_steps::slot(int place) {
    constexpr std::size_t line = 64;
    const auto begin = reinterpret_cast<std::uintptr_t>(numbers_.data());
    const std::size_t skipped = (line - begin % line) % line / sizeof(float);
    return numbers_.data() + skipped + to_size(place - first_slot) * stride;
}

struct formula_steps::draft {
    struct step {
        kernels::step_code what;
        int node; ///< -1 of one that became a part of the next
        int count;
        int of[3];
    };

    draft(const expression::formula& formula, const fixed_vector<int, expression::most_inputs>& wanted);

    const expression::node& node(int i) const { return f.nodes.nodes[i]; }
    bool is_leaf(int i) const { return expression::operands_of(node(i).what) == 0 || (is_given && i == f.result); }
    int root_of(int i) const; ///< the first whose node it is
    void plan_steps();
    step step_of(int i);
    void find_last_uses();

    const expression::formula& f;
    const fixed_vector<int, expression::most_inputs>& roots;
    bool is_given = false;     ///< the result is one of the leaves
    std::vector<int> order;    ///< nodes
    std::vector<int> uses;     ///< by node: how often others read it
    std::vector<step> planned; ///< in the order of their nodes
    std::vector<int> own_step; ///< by node
    std::vector<int> last_use; ///< by node: the step
    std::vector<int> place;    ///< by node: its array
};

TESSERA_INLINE formula_steps::draft::draft(const expression::formula& formula,
                                           const fixed_vector<int, expression::most_inputs>& wanted)
    : f(formula), roots(wanted) {
    const std::vector<int> none(to_size(expression::max_nodes), -1);
    own_step = last_use = place = none;
    uses.assign(none.size(), 0);
    std::uint64_t done = 0;
    for (const int root : roots) {
        is_given = is_given || f.reads_result(root);
        expression::node_order needed;
        expression::detail::visit(f, root, f.root(root), done, needed);
        order.insert(order.end(), needed.at, needed.at + needed.count);
    }
    for (const int i : order) {
        for (int p = 0; !is_leaf(i) && p < expression::operands_of(node(i).what); ++p) {
            ++uses[to_size(node(i).of[p])];
        }
    }
}

TESSERA_INLINE int formula_steps::draft::root_of(int i) const {
    for (int r = 0; r < roots.size(); ++r) {
        if (f.root(roots[r]) == i) {
            return r;
        }
    }
    return -1;
}

/// Steps of nodes; what only the next one takes is a part of it.
TESSERA_INLINE void formula_steps::draft::plan_steps() {
    for (const int i : order) {
        if (!is_leaf(i)) {
            const step made = step_of(i);
            own_step[to_size(i)] = static_cast<int>(planned.size());
            planned.push_back(made);
        }
    }
}

TESSERA_INLINE formula_steps::draft::step formula_steps::draft::step_of(int i) {
    const expression::node& n = node(i);
    const int count = expression::operands_of(n.what);
    for (int p = 0; p < count && count == 2; ++p) {
        const int first = n.of[p]; // NOLINT(bugprone-signed-char-misuse): a small number
        const int made_by = own_step[to_size(first)];
        const kernels::step_code pair = kernels::pair_of(node(first).what, n.what, p == 1);
        if (made_by < 0 || uses[to_size(first)] != 1 || root_of(first) >= 0 || pair == kernels::step_code::constant ||
            planned[to_size(made_by)].what != kernels::code_of(node(first).what)) {
            continue;
        }
        step& before = planned[to_size(made_by)];
        before.node = -1;
        return {pair, i, 3, {before.of[0], before.of[1], n.of[1 - p]}};
    }
    return {kernels::code_of(n.what), i, count, {n.of[0], n.of[1], n.of[2]}};
}

TESSERA_INLINE void formula_steps::draft::find_last_uses() {
    for (std::size_t k = 0; k < planned.size(); ++k) {
        for (int p = 0; planned[k].node >= 0 && p < planned[k].count; ++p) {
            last_use[to_size(planned[k].of[p])] = static_cast<int>(k);
        }
    }
}

TESSERA_INLINE void formula_steps::compile(const expression::formula& f,
                                           const fixed_vector<int, expression::most_inputs>& roots,
                                           const std::array<float, expression::most_attributes>& attributes) {
    draft d(f, roots);
    d.plan_steps();
    d.find_last_uses();
    place_leaves(d, attributes);
    place_steps(d);
    copy_roots(d);
}

TESSERA_INLINE void formula_steps::place_leaves(draft& d,
                                                const std::array<float, expression::most_attributes>& attributes) {
    using expression::opcode;
    const expression::formula& f = d.f;
    for (const int i : d.order) {
        const expression::node& n = d.node(i);
        int& to = d.place[to_size(i)];
        if (d.is_given && i == f.result) {
            to = f.inputs;
        } else if (n.what == opcode::input) {
            to = n.of[0]; // NOLINT(bugprone-signed-char-misuse): a small number
        } else if (n.what == opcode::gradient && f.loss) {
            loss_leaf_ = f.inputs + 1;
            loss_gradient_ = to = own_slot();
        } else if (n.what == opcode::gradient) {
            to = f.inputs + 1;
        } else if (n.what == opcode::constant || n.what == opcode::attribute) {
            to = own_slot();
            const bool is_attribute = n.what == opcode::attribute;
            constants_.push_back(
                {to, is_attribute ? attributes[static_cast<unsigned char>(n.of[0])] : static_cast<float>(n.constant)});
        }
    }
}

TESSERA_INLINE void formula_steps::place_steps(draft& d) {
    std::vector<int> free;
    for (std::size_t k = 0; k < d.planned.size(); ++k) {
        const draft::step& x = d.planned[k];
        if (x.node < 0) {
            continue;
        }
        kernels::node_step step{x.what, 0, {}};
        for (int p = 0; p < 3; ++p) {
            const int operand = x.of[p < x.count ? p : 0];
            const auto at = to_size(operand);
            step.of[p] = static_cast<std::uint8_t>(d.place[at]);
            if (!d.is_leaf(operand) && d.root_of(operand) < 0 && d.last_use[at] == static_cast<int>(k)) {
                free.push_back(d.place[at]); // a step may write what it reads
                d.last_use[at] = -1;
            }
        }
        int& to = d.place[to_size(x.node)];
        if (const int r = d.root_of(x.node); r >= 0) {
            to = leaves + r;
        } else if (!free.empty()) {
            to = free.back();
            free.pop_back();
        } else {
            to = own_slot();
        }
        step.to = static_cast<std::uint8_t>(to);
        steps_.push_back(step);
    }
}

/// Copies the roots that are no step's, or are another root's.
TESSERA_INLINE void formula_steps::copy_roots(const draft& d) {
    for (int r = 0; r < d.roots.size(); ++r) {
        const int from = d.place[to_size(d.f.root(d.roots[r]))];
        if (from != leaves + r) {
            const auto place_of_root = static_cast<std::uint8_t>(from);
            steps_.push_back({kernels::code_of(expression::opcode::stop_gradient),
                              static_cast<std::uint8_t>(leaves + r),
                              {place_of_root, place_of_root, place_of_root}});
        }
        apart_[r] = d.roots.size() > 1 ? own_slot() : -1;
    }
}

TESSERA_INLINE steps_by_number::steps_by_number(const op_attributes& a) {
    const expression::formula& f = *record_of(a).formula;
    for (int which = expression::the_result; which < f.inputs; ++which) {
        fixed_vector<int, expression::most_inputs> root;
        root.push_back(which);
        of_[which + 1] = formula_steps(f, root, a);
    }
}

TESSERA_INLINE void steps_by_number::operator()(int which, const float* const* from, float* to, std::ptrdiff_t count) {
    of_[which + 1].run(from, to, count);
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
