// SPDX-License-Identifier: Apache-2.0
// Operators that are written as loop nests: a pass after the other, at some points of the innermost loop at a time.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/op/expression.hpp"
#include "tessera/base/finite.hpp"
#include "tessera/op/nest/program.hpp"

#include <limits>

namespace tessera::reference {

namespace detail {

/// The values of a tape's root at some points at a time.
template <class Real>
class tape_loop {
public:
    static constexpr index_t most = 64; ///< points at a time

    tape_loop(const expression::tape& t, int root) : t_(t), root_(root), needs_(expression::nodes_for(t, root)) {}

    /// `load(node, to)` writes what a leaf stands for.
    template <class Load>
    const Real* operator()(index_t count, Load&& load) {
        for (int i = 0; i <= root_; ++i) {
            if ((needs_ >> static_cast<unsigned>(i) & 1U) == 0) {
                continue;
            }
            const expression::node& n = t_.nodes[i];
            Real* const to = at(i);
            if (expression::operands_of(n.what) == 0) {
                load(n, to);
                continue;
            }
            const Real* const a = at(n.of[0]);
            const Real* const b = at(n.of[1] < 0 ? n.of[0] : n.of[1]);
            const Real* const c = at(n.of[2] < 0 ? n.of[0] : n.of[2]);
            for (index_t e = 0; e < count; ++e) {
                to[e] = compute_node(n.what, a[e], b[e], c[e]);
            }
        }
        return at(root_);
    }

private:
    Real* at(int i) { return numbers_ + static_cast<index_t>(i) * most; }

    const expression::tape& t_;
    int root_;
    std::uint64_t needs_;
    Real numbers_[expression::max_nodes * to_size(most)];
};

/// Whether this shard has to add what a pass adds to a gradient: of shards that divide loops that the pass does not
/// have, the first.
bool adds_to_gradient(const compute_call& c, const nests::nest_pass& pass);

/// Forward, and backward of each operand: what the record's program says.
struct nest_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int nest) {
        const nests::program& p = nests::program_of(s.call.attributes, s.d);
        const nests::nest_pass& pass = p.forward[nest];
        const bool is_max = pass.reduce == reducer::max;
        if (s.d.operands[pass.target].type == element::f64) {
            s.template fill<double>(pass.target, 0);
            run(s, p, pass, s.template value<double>(pass.target));
        } else {
            s.template fill<Real>(pass.target, is_max ? -std::numeric_limits<Real>::infinity() : Real(0));
            run(s, p, pass, s.value(pass.target));
        }
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        const nests::program& p = nests::program_of(s.call.attributes, s.d);
        for (const nests::nest_pass& pass : p.backward) {
            if (pass.target != o || !adds_to_gradient(s.call, pass)) {
                continue;
            }
            const bool twice = s.d.operands[o].type == element::f64;
            twice ? run(s, p, pass, s.template gradient<double>(o))
                  : run(s, p, pass, s.gradient(o)); // NOLINT(bugprone-branch-clone): other types
        }
    }

private:
    /// An operand's value or gradient, and where it is in a run.
    template <class Real>
    struct source {
        const Real* single = nullptr;
        const double* twice = nullptr;
        const std::int32_t* integers = nullptr;

        Real at(index_t i) const {
            return single != nullptr  ? single[i]
                   : twice != nullptr ? static_cast<Real>(twice[i])
                                      : static_cast<Real>(integers[i]);
        }
    };

    template <class Real, class To>
    static void run(const shard<Real>& s, const nests::program& p, const nests::nest_pass& pass, To* to) {
        using expression::opcode;
        constexpr int places = 16; // what is written, then what is read
        cursor where[places];
        source<Real> from[places];
        int value_at[max_operands] = {};
        int gradient_at[max_operands] = {};
        int count = 1;
        where[0] = pass.to_gradient ? s.gradient_at(pass.target) : s.value_at(pass.target);
        for (int o = 0; o < s.d.operands.size(); ++o) {
            const bool twice = s.d.operands[o].type == element::f64;
            if (has(pass.values, o)) {
                where[count] = s.value_at(o);
                if (s.d.operands[o].type == element::i32) {
                    from[count].integers = s.template value<std::int32_t>(o);
                } else {
                    if (twice) {
                        from[count].twice = s.template value<double>(o);
                    } else {
                        from[count].single = s.value(o);
                    }
                }
                value_at[o] = count++;
            }
            if (has(pass.gradients, o)) {
                where[count] = s.gradient_at(o);
                if (twice) {
                    from[count].twice = s.template gradient<double>(o);
                } else {
                    from[count].single = s.gradient(o);
                }
                gradient_at[o] = count++;
            }
        }
        double scalars[nests::max_scalars] = {};
        nests::scalars_of_call(p, s.call, scalars);
        int innermost = 0;
        for (int l = 0; l < s.d.loops.size(); ++l) {
            innermost = has(pass.loops, l) ? l : innermost;
        }
        tape_loop<Real> loop(pass.nodes, pass.root);
        s.walk_over(pass.loops, pass.inside, where, [&](const auto& r) {
            for (index_t begin = 0; begin < r.count; begin += loop.most) {
                const index_t n = r.count - begin < loop.most ? r.count - begin : loop.most;
                const Real* const made = loop(n, [&](const expression::node& leaf, Real* into) {
                    if (leaf.what == opcode::constant) {
                        return fill_with(into, n, static_cast<Real>(leaf.constant));
                    }
                    if (nests::is_scalar(leaf)) {
                        const int number = leaf.of[0] - nests::first_scalar;
                        const nests::scalar& x = p.scalars[number];
                        if (x.kind != nests::scalar_kind::index) {
                            return fill_with(into, n, static_cast<Real>(scalars[number]));
                        }
                        for (index_t e = 0; e < n; ++e) {
                            into[e] = static_cast<Real>(r.point[x.loop] + (x.loop == innermost ? begin + e : 0));
                        }
                        return;
                    }
                    const int o = leaf.of[0]; // NOLINT(bugprone-signed-char-misuse): a small number
                    const int place = leaf.what == opcode::gradient ? gradient_at[o] : value_at[o];
                    const index_t step = r.step[place];
                    const index_t first = r.at[place] + begin * step;
                    for (index_t e = 0; e < n; ++e) {
                        into[e] = from[place].at(first + e * step);
                    }
                });
                reduce(pass.reduce, made, n, to + r.at[0] + begin * r.step[0], r.step[0]);
            }
        });
    }
    template <class Real>
    static void fill_with(Real* to, index_t count, Real with) {
        for (index_t e = 0; e < count; ++e) {
            to[e] = with;
        }
    }
    template <class Real, class To>
    static void reduce(reducer reduction, const Real* made, index_t count, To* to, index_t step) {
        for (index_t e = 0; e < count; ++e) {
            To& x = to[e * step];
            const To next = static_cast<To>(made[e]);
            x = reduction == reducer::sum    ? x + next
                : reduction == reducer::none ? next
                : x >= next || is_nan(x)     ? x
                                             : next;
        }
    }
};

} // namespace detail

/// The row of every operator that is written as loop nests.
template <class Real>
inline constexpr operator_row<Real> any_nests{nullptr, detail::nest_loops::forward<Real>,
                                              detail::nest_loops::backward<Real>};

} // namespace tessera::reference

#ifndef TESSERA_COMPILED
#include "tessera/backend/reference/op/nest.inl"
#endif

#include "tessera/base/end_header.inl"
