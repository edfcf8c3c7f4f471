// SPDX-License-Identifier: Apache-2.0
// Operators that are expressions, some elements at a time: a node after the other, as the formula has them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/op/row.hpp"
#include "tessera/base/finite.hpp"
#include "tessera/op/expression/record.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera::reference {

namespace detail {

/// What a node makes of numbers.
template <class Real>
Real compute_node(expression::opcode what, Real a, Real b, Real c) {
    using expression::opcode;
    switch (what) {
    case opcode::add:
        return a + b;
    case opcode::subtract:
        return a - b;
    case opcode::multiply:
        return a * b;
    case opcode::divide:
        return a / b;
    case opcode::negate:
        return -a;
    case opcode::less:
        return a < b ? Real(1) : Real(0);
    case opcode::less_equal:
        return a <= b ? Real(1) : Real(0);
    case opcode::equal:
        return a == b ? Real(1) : Real(0); // NOLINT(clang-diagnostic-float-equal): what the expression asks
    case opcode::select:
        return a != 0 ? b : c; // NOLINT(clang-diagnostic-float-equal): a condition is 0 or 1
    case opcode::abs:
        return std::abs(a);
    case opcode::sign:
        return a > 0 ? Real(1) : a < 0 ? Real(-1) : a;
    case opcode::min:
        return a < b || is_nan(a) ? a : b;
    case opcode::max:
        return a > b || is_nan(a) ? a : b;
    case opcode::relu:
        return a <= 0 ? Real(0) : a;
    case opcode::floor:
        return std::floor(a);
    case opcode::sqrt:
        return std::sqrt(a);
    case opcode::exp:
        return std::exp(a);
    case opcode::log:
        return std::log(a);
    case opcode::pow:
        return std::pow(a, b);
    case opcode::tanh:
        return std::tanh(a);
    case opcode::sigmoid:
        return 1 / (1 + std::exp(-a));
    case opcode::softplus:
        return (a <= 0 ? Real(0) : a) + std::log1p(std::exp(-std::abs(a)));
    case opcode::erf:
        return std::erf(a);
    case opcode::normal:
        return Real(0.5) * std::erfc(-a * Real(0.70710678118654752440));
    case opcode::sin:
        return std::sin(a);
    case opcode::cos:
        return std::cos(a);
    case opcode::input:
    case opcode::result:
    case opcode::gradient:
    case opcode::constant:
    case opcode::attribute:
    case opcode::stop_gradient:
    case opcode::straight_through:
        return a;
    }
    return a;
}

/// The result (expression::the_result), or the gradient of an input, of some elements at a time.
template <class Real>
class formula_loop {
public:
    static constexpr index_t most = 64; ///< elements at a time

    /// `of`: the use whose attributes the formula has, if it has any.
    formula_loop(const expression::formula& f, int which, const op_attributes& of = {})
        : f_(f), which_(which), needs_(nodes_for(f, which)), attributes_(of.as<op::expression_attributes>()) {}

    /// `load(leaf, to)` writes the elements of what a leaf stands for: operand number leaf of the formula (its inputs,
    /// its result, the gradient of that). Returns the elements of the result.
    template <class Load>
    const Real* operator()(index_t count, Load&& load) {
        const int root = f_.root(which_);
        for (int i = 0; i <= root; ++i) {
            if ((needs_ >> static_cast<unsigned>(i) & 1U) == 0) {
                continue;
            }
            const expression::node& n = f_.nodes.nodes[i];
            Real* const to = at(i);
            if (i == f_.result && f_.reads_result(which_)) {
                load(f_.inputs, to);
            } else if (n.what == expression::opcode::input) {
                load(n.of[0], to);
            } else if (n.what == expression::opcode::gradient) {
                load(f_.inputs + 1, to);
            } else if (n.what == expression::opcode::constant || n.what == expression::opcode::attribute) {
                const bool is_attribute = n.what == expression::opcode::attribute;
                const auto number = static_cast<Real>(is_attribute ? attributes_.number[n.of[0]] : n.constant);
                for (index_t e = 0; e < count; ++e) {
                    to[e] = number;
                }
            } else {
                const Real* const a = at(n.of[0]);
                const Real* const b = at(n.of[1] < 0 ? n.of[0] : n.of[1]);
                const Real* const c = at(n.of[2] < 0 ? n.of[0] : n.of[2]);
                for (index_t e = 0; e < count; ++e) {
                    to[e] = compute_node(n.what, a[e], b[e], c[e]);
                }
            }
        }
        return at(root);
    }

private:
    Real* at(int i) { return numbers_ + static_cast<index_t>(i) * most; }

    const expression::formula& f_;
    int which_;
    std::uint64_t needs_;
    op::expression_attributes attributes_;
    Real numbers_[expression::max_nodes * to_size(most)];
};

/// Forward, and backward of each input: what the record's formula says.
struct formula_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        run(s, expression::the_result, s.value(s.output()), s.value_at(s.output()));
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        run(s, o, s.gradient(o), s.gradient_at(o));
    }

private:
    /// Inputs are the first operands of the description, the output is the next one: so the formula numbers them, too.
    template <class Real>
    static void run(const shard<Real>& s, int which, Real* to, const cursor& to_at) {
        const expression::formula& f = *record_of(s.call.attributes).formula;
        constexpr int places = expression::most_inputs + 3; // inputs, result, its gradient, what is written
        const Real* from[places] = {};
        cursor where[places];
        for (cursor& c : where) {
            c = to_at;
        }
        const std::uint32_t reads = which < 0 ? bit(f.inputs) - 1 : f.reads[which];
        for (int k = 0; k <= f.inputs; ++k) {
            if (has(reads, k)) {
                from[k] = s.value(k);
                where[k] = s.value_at(k);
            }
        }
        if (which >= 0 && !f.loss) {
            from[f.inputs + 1] = s.gradient(s.output());
            where[f.inputs + 1] = s.gradient_at(s.output());
        }
        formula_loop<Real> loop(f, which, s.call.attributes);
        const auto scale = static_cast<Real>(s.call.loss_scale);
        const bool sums = which >= 0 && gradient_reduced_loops(s.d, which) != 0; // of an input that is broadcast
        s.walk(where, [&](const auto& r) {
            for (index_t begin = 0; begin < r.count; begin += loop.most) {
                const index_t count = r.count - begin < loop.most ? r.count - begin : loop.most;
                const Real* const made = loop(count, [&](int leaf, Real* into) {
                    if (from[leaf] == nullptr) { // the gradient of a loss
                        std::fill(into, into + count, scale);
                        return;
                    }
                    const index_t step = r.step[leaf];
                    const Real* const first = from[leaf] + r.at[leaf] + begin * step;
                    for (index_t e = 0; e < count; ++e) {
                        into[e] = first[e * step];
                    }
                });
                const index_t step = r.step[places - 1];
                Real* const first = to + r.at[places - 1] + begin * step;
                if (step == 0 && sums) {
                    double sum = 0;
                    for (index_t e = 0; e < count; ++e) {
                        sum += static_cast<double>(made[e]);
                    }
                    *first = static_cast<Real>(static_cast<double>(*first) + sum);
                    continue;
                }
                for (index_t e = 0; e < count; ++e) {
                    first[e * step] = sums ? first[e * step] + made[e] : made[e];
                }
            }
        });
    }
};

} // namespace detail

/// The row of every operator that is an expression.
template <class Real>
inline constexpr operator_row<Real> any_expression{nullptr, detail::formula_loops::forward<Real>,
                                                   detail::formula_loops::backward<Real>};

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
