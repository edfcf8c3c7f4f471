// SPDX-License-Identifier: Apache-2.0
// Formulas whose nodes run one after the other: the numbers are those of the nodes in double, whatever the count, also
// where gradients take the memory of what they are made of.
#include "tessera/backend/host/op/formula_steps.hpp"
#include "tessera/backend/reference/op/expression.hpp"
#include "tessera/op/expression/compose.hpp"
#include "tessera/op/library.hpp"
#include "tessera/op/losses.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <string>

namespace ts = tessera;

namespace {

namespace ex = ts::expression;
using roots_of = ts::fixed_vector<int, ex::most_inputs>;

/// All passes of a formula, each alone and all gradients at once, in arrays of `count` numbers.
void check(const ex::formula& f, const ts::op_attributes& of, std::size_t count, bool in_place) {
    std::vector<std::vector<float>> in(6, std::vector<float>(count));
    for (std::size_t k = 0; k < in.size(); ++k) {
        for (std::size_t i = 0; i < count; ++i) {
            in[k][i] = 0.6F + 0.5F * std::sin(static_cast<float>(i * (k + 3)) * 0.37F + static_cast<float>(k));
        }
    }
    const auto expected = [&](int which, std::size_t i) {
        ex::formula whole = f;
        for (std::uint32_t& reads : whole.reads) { // the result is computed again
            reads &= (1U << static_cast<unsigned>(f.inputs)) - 1;
        }
        ts::reference::detail::formula_loop<double> loop(whole, which, of);
        return *loop(1, [&](int leaf, double* to) {
            const bool is_scale = f.loss && leaf == f.inputs + 1;
            *to = static_cast<double>(in[ts::to_size(leaf)][is_scale ? 0 : i]);
        });
    };
    for (int which = ex::the_result; which < f.inputs; ++which) { // the gradients want the result
        roots_of roots;
        if (which == 0) {
            for (int k = 0; k < f.inputs; ++k) {
                roots.push_back(k);
            }
        } else {
            roots.push_back(which);
        }
        std::vector<std::vector<double>> wanted;
        for (const int root : roots) {
            wanted.emplace_back();
            for (std::size_t i = 0; i < count; ++i) {
                wanted.back().push_back(expected(root, i));
            }
        }
        std::vector<std::vector<float>> given = in;
        std::vector<std::vector<float>> made(4, std::vector<float>(count));
        for (std::size_t i = 0; i < count; ++i) {
            given[ts::to_size(f.inputs)][i] = static_cast<float>(expected(ex::the_result, i));
        }
        const float* from[6] = {};
        for (std::size_t k = 0; k < 6; ++k) {
            from[k] = given[k].data();
        }
        float* to[4] = {made[0].data(), made[1].data(), made[2].data(), made[3].data()};
        if (in_place && !f.loss) { // the first takes the memory of the gradient that all read
            to[0] = given[ts::to_size(which < 0 ? 0 : f.inputs + 1)].data();
        }
        ts::host::formula_steps(f, roots, of).run(from, to, static_cast<std::ptrdiff_t>(count));
        for (int r = 0; r < roots.size(); ++r) {
            for (std::size_t i = 0; i < count; ++i) {
                CAPTURE(roots[r]);
                const double w = wanted[ts::to_size(r)][i];
                const bool same = std::isfinite(w)
                                      ? std::abs(static_cast<double>(to[r][i]) - w) <= 2e-5 * (1 + std::abs(w))
                                      : !std::isfinite(to[r][i]);
                if (!same) {
                    CHECK(static_cast<double>(to[r][i]) == doctest::Approx(w));
                    return;
                }
            }
        }
    }
}

void check(const ex::formula& f, const ts::op_attributes& of) {
    for (const std::size_t count : std::initializer_list<std::size_t>{1, 7, 33, 512, 1100}) {
        check(f, of, count, false);
        check(f, of, count, true);
    }
}

} // namespace

TEST_CASE("formulas of all operators and losses") {
    int seen = 0;
    for (const ts::op_record* const r : ts::library_operators) {
        if (r->formula != nullptr) {
            CAPTURE(std::string(r->name));
            const ts::op_attributes a =
                ts::attributes_of(ts::op_kind{r}, ts::op::expression_attributes{.number = {0.3, 0.8}});
            check(*r->formula, a);
            ++seen;
        }
    }
    CHECK(seen > 20);
    check(*ts::record_of(ts::mse_loss::attributes).formula, ts::mse_loss::attributes);
    check(*ts::record_of(ts::bce_with_logits::attributes).formula, ts::bce_with_logits::attributes);
}

TEST_CASE("formulas of two and three operators, whose nodes make pairs") {
    int fused = 0;
    for (const ts::op_record* const inner : ts::library_operators) {
        for (const ts::op_record* const outer : ts::library_operators) {
            if (inner->formula == nullptr || outer->formula == nullptr) {
                continue;
            }
            ex::applied maker{inner->formula, {0.3, 0.8}, {0, 1}, 10};
            const ex::applied last{outer->formula, {0.2, 0.9}, {10, 2}, 11};
            const ex::composition c = ex::compose(last, &maker, 1);
            if (c.fits) {
                CAPTURE(std::string(inner->name));
                CAPTURE(std::string(outer->name));
                check(c.of, {}, 37, false);
                check(c.of, {}, 37, true);
                ++fused;
            }
        }
    }
    CHECK(fused > 500);
}
