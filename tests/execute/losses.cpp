// SPDX-License-Identifier: Apache-2.0
// The library's losses of numbers, and ones that a user writes in one line, are what their formulas say, and train so
// under any split and with micro-batches.
#include "support/loss_training.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/backend/reference/op/expression.hpp"

namespace {

using namespace loss_training;

template <class Loss>
void check_values() {
    for (int i = -40; i <= 40; ++i) {
        for (const double target : {0.0, 0.25, 1.0}) {
            const double x = 0.25 * i;
            ts::reference::detail::formula_loop<double> loop(ts::detail::loss_formula_of<Loss>, -1);
            const double made = *loop(1, [&](int leaf, double* to) { *to = leaf == 0 ? x : target; });
            CAPTURE(x);
            CAPTURE(target);
            CHECK(made == doctest::Approx(formula_of<Loss>().of(x, target)).epsilon(1e-12));
        }
    }
}

} // namespace

TEST_CASE("losses of numbers are what their formulas say") {
    check_values<ts::mse_loss>();
    check_values<ts::l1_loss>();
    check_values<ts::huber_loss<0.5>>();
    check_values<ts::bce_with_logits>();
    check_values<ts::kl_divergence>();
    check_values<quartic>();
    check_values<energy>();
}

TEST_CASE("losses of numbers train as their formulas say") {
    check<ts::kl_divergence, ts::reference::backend>();
    check<energy, ts::reference::backend>();
}
