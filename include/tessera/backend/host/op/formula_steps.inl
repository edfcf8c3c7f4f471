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

TESSERA_INLINE void formula_steps::compile(const expression::formula& f,
                                           const fixed_vector<int, expression::most_inputs>& roots,
                                           const std::array<float, expression::most_attributes>& attributes) {
    using expression::opcode;
    std::vector<int> order;
    std::vector<int> place(to_size(expression::max_nodes), -1);
    bool is_given = false;
    std::uint64_t done = 0;
    for (const int root : roots) {
        is_given = is_given || f.reads_result(root);
        expression::node_order needed;
        expression::detail::visit(f, root, f.root(root), done, needed);
        order.insert(order.end(), needed.at, needed.at + needed.count);
    }
    const auto is_leaf = [&](int i) {
        return expression::operands_of(f.nodes.nodes[i].what) == 0 || (is_given && i == f.result);
    };
    const auto root_of = [&](int i) { // the first whose node it is
        for (int r = 0; r < roots.size(); ++r) {
            if (f.root(roots[r]) == i) {
                return r;
            }
        }
        return -1;
    };
    std::vector<int> uses(place.size(), 0);
    for (const int i : order) {
        for (int p = 0; !is_leaf(i) && p < expression::operands_of(f.nodes.nodes[i].what); ++p) {
            ++uses[to_size(f.nodes.nodes[i].of[p])];
        }
    }
    // Steps of nodes; what only the next one takes is a part of it.
    struct planned_step {
        kernels::step_code what;
        int node;
        int count;
        int of[3];
    };
    std::vector<planned_step> planned;
    std::vector<int> own_step(place.size(), -1);
    for (const int i : order) {
        const expression::node& n = f.nodes.nodes[i];
        if (is_leaf(i)) {
            continue;
        }
        planned_step step{kernels::code_of(n.what), i, expression::operands_of(n.what), {n.of[0], n.of[1], n.of[2]}};
        for (int p = 0; p < step.count && step.count == 2; ++p) {
            const int first = n.of[p]; // NOLINT(bugprone-signed-char-misuse): a small number
            const int made_by = own_step[to_size(first)];
            const kernels::step_code pair = kernels::pair_of(f.nodes.nodes[first].what, n.what, p == 1);
            if (made_by < 0 || uses[to_size(first)] != 1 || root_of(first) >= 0 ||
                pair == kernels::step_code::constant ||
                planned[to_size(made_by)].what != kernels::code_of(f.nodes.nodes[first].what)) {
                continue;
            }
            planned_step& before = planned[to_size(made_by)];
            step = {pair, i, 3, {before.of[0], before.of[1], n.of[1 - p]}};
            before.node = -1;
            break;
        }
        own_step[to_size(i)] = static_cast<int>(planned.size());
        planned.push_back(step);
    }
    std::vector<int> last_use(place.size(), -1); // the step
    for (std::size_t k = 0; k < planned.size(); ++k) {
        for (int p = 0; planned[k].node >= 0 && p < planned[k].count; ++p) {
            last_use[to_size(planned[k].of[p])] = static_cast<int>(k);
        }
    }
    const auto own_slot = [&] { return first_slot + slots_++; };
    for (const int i : order) {
        const expression::node& n = f.nodes.nodes[i];
        int& to = place[to_size(i)];
        if (is_given && i == f.result) {
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
    std::vector<int> free;
    for (std::size_t k = 0; k < planned.size(); ++k) {
        const planned_step& x = planned[k];
        if (x.node < 0) {
            continue;
        }
        kernels::node_step step{x.what, 0, {}};
        for (int p = 0; p < 3; ++p) {
            const int operand = x.of[p < x.count ? p : 0];
            const auto at = to_size(operand);
            step.of[p] = static_cast<std::uint8_t>(place[at]);
            if (!is_leaf(operand) && root_of(operand) < 0 && last_use[at] == static_cast<int>(k)) {
                free.push_back(place[at]); // a step may write what it reads
                last_use[at] = -1;
            }
        }
        int& to = place[to_size(x.node)];
        if (const int r = root_of(x.node); r >= 0) {
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
    for (int r = 0; r < roots.size(); ++r) { // what is no step's, or is another root's
        const int from = place[to_size(f.root(roots[r]))];
        if (from != leaves + r) {
            const auto place_of_root = static_cast<std::uint8_t>(from);
            steps_.push_back({kernels::code_of(opcode::stop_gradient),
                              static_cast<std::uint8_t>(leaves + r),
                              {place_of_root, place_of_root, place_of_root}});
        }
        apart_[r] = roots.size() > 1 ? own_slot() : -1;
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
