// SPDX-License-Identifier: Apache-2.0
// Formulas that are known when the program runs, such as those of fused operators: some hundred elements at a time, each node a vectorized loop over
// them, what is between in the first cache.
#pragma once

#include "tessera/backend/host/kernels/steps.hpp"
#include "tessera/backend/host/op/elementwise_kernels.hpp"

#include <algorithm>
#include <vector>

namespace tessera::host {

/// The result of a formula, or the gradients of some of its inputs at once, so that what they share is computed once.
class formula_steps {
public:
    static constexpr std::ptrdiff_t most = 512; ///< elements at a time

    formula_steps() = default;
    /// `roots`: expression::the_result, or inputs. `of`: the use whose attributes the formula has, if it has any.
    formula_steps(const expression::formula& f, const fixed_vector<int, expression::most_inputs>& roots,
                  const op_attributes& of)
        : roots_(roots.size()) {
        expression::formula all = f;
        for (const int root : roots) { // one that is given the result gives it to all
            for (int k = 0; f.reads_result(root) && k < f.inputs; ++k) {
                all.reads[k] |= bit(f.inputs);
            }
        }
        compile(all, roots, attributes_as_floats(of));
        numbers_.resize(static_cast<std::size_t>(slots_) * most + 16);
        for (const constant& c : constants_) {
            std::fill_n(slot(c.place), most, c.number);
        }
    }
    formula_steps(formula_steps&&) = default;
    formula_steps& operator=(formula_steps&&) = default;
    formula_steps(const formula_steps&) = delete;
    formula_steps& operator=(const formula_steps&) = delete;

    /// `from`: the inputs, the result, its gradient (of a loss, one number); null where the formula does not read them. `to`: one for every root, which may
    /// be one of `from`.
    void run(const float* const* from, float* const* to, std::ptrdiff_t count) {
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
    void run(const float* const* from, float* to, std::ptrdiff_t count) { run(from, &to, count); }

private:
    // Places of arrays: leaves, roots, then slots of our own.
    static constexpr int leaves = expression::most_inputs + 2;
    static constexpr int first_slot = leaves + expression::most_inputs;
    static constexpr int most_places = first_slot + expression::max_nodes + expression::most_inputs;

    struct constant {
        int place = 0;
        float number = 0;
    };

    float* slot(int place) {
        constexpr std::size_t line = 64;
        const auto begin = reinterpret_cast<std::uintptr_t>(numbers_.data());
        const std::size_t skipped = (line - begin % line) % line / sizeof(float);
        return numbers_.data() + skipped + static_cast<std::size_t>(place - first_slot) * most;
    }

    void compile(const expression::formula& f, const fixed_vector<int, expression::most_inputs>& roots,
                 const std::array<float, expression::most_attributes>& attributes) {
        using expression::opcode;
        std::vector<int> order;
        std::vector<int> place(static_cast<std::size_t>(expression::max_nodes), -1);
        std::vector<int> last_use(place.size(), -1); // place in the order; of roots and leaves none
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
        for (std::size_t k = 0; k < order.size(); ++k) {
            for (int p = 0; !is_leaf(order[k]) && p < expression::operands_of(f.nodes.nodes[order[k]].what); ++p) {
                last_use[static_cast<std::size_t>(f.nodes.nodes[order[k]].of[p])] = static_cast<int>(k);
            }
        }
        const auto root_of = [&](int i) { // the first whose node it is
            for (int r = 0; r < roots.size(); ++r) {
                if (f.root(roots[r]) == i) {
                    return r;
                }
            }
            return -1;
        };
        std::vector<int> free;
        const auto own_slot = [&] { return first_slot + slots_++; };
        for (std::size_t k = 0; k < order.size(); ++k) {
            const int i = order[k];
            const expression::node& n = f.nodes.nodes[i];
            int& to = place[static_cast<std::size_t>(i)];
            if (is_given && i == f.result) {
                to = f.inputs;
            } else if (n.what == opcode::input) {
                to = n.of[0];
            } else if (n.what == opcode::gradient) {
                to = f.inputs + 1;
                if (f.loss) {
                    loss_leaf_ = to;
                    loss_gradient_ = to = own_slot();
                }
            } else if (n.what == opcode::constant || n.what == opcode::attribute) {
                to = own_slot();
                const bool is_attribute = n.what == opcode::attribute;
                constants_.push_back({to, is_attribute ? attributes[static_cast<std::size_t>(n.of[0])]
                                                       : static_cast<float>(n.constant)});
            } else {
                kernels::node_step step{n.what, 0, {}};
                for (int p = 0; p < expression::operands_of(n.what); ++p) {
                    const auto at = static_cast<std::size_t>(n.of[p]);
                    step.of[p] = static_cast<std::uint8_t>(place[at]);
                    const bool is_own = !is_leaf(n.of[p]) && root_of(n.of[p]) < 0;
                    if (is_own && last_use[at] == static_cast<int>(k)) {
                        free.push_back(place[at]); // a step may write what it reads
                        last_use[at] = -1;
                    }
                }
                if (const int r = root_of(i); r >= 0) {
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
        for (int r = 0; r < roots.size(); ++r) { // what is no step's, or is another root's
            const int from = place[static_cast<std::size_t>(f.root(roots[r]))];
            if (from != leaves + r) {
                steps_.push_back({opcode::stop_gradient,
                                  static_cast<std::uint8_t>(leaves + r),
                                  {static_cast<std::uint8_t>(from)}});
            }
            apart_[r] = roots.size() > 1 ? own_slot() : -1;
        }
    }

    int roots_ = 0;
    int slots_ = 0;
    int loss_leaf_ = -1; ///< of a loss: the leaf that is one number, and the slot that is filled with it
    int loss_gradient_ = -1;
    int apart_[expression::most_inputs] = {}; ///< slots of roots that cannot be written while others are computed
    std::vector<kernels::node_step> steps_;
    std::vector<constant> constants_;
    std::vector<float> numbers_;
};

/// All of an operator's, by the number of an input or expression::the_result.
class steps_by_number {
public:
    explicit steps_by_number(const op_attributes& a) {
        const expression::formula& f = *record_of(a).formula;
        for (int which = expression::the_result; which < f.inputs; ++which) {
            fixed_vector<int, expression::most_inputs> root;
            root.push_back(which);
            of_[which + 1] = formula_steps(f, root, a);
        }
    }
    void operator()(int which, const float* const* from, float* to, std::ptrdiff_t count) {
        of_[which + 1].run(from, to, count);
    }

private:
    formula_steps of_[1 + expression::most_inputs];
};

} // namespace tessera::host
