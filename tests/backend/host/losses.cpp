// SPDX-License-Identifier: Apache-2.0
// Losses that are expressions on the host, by vectorized kernels: they train as their formulas say.
#include "support/loss_training.hpp"
#include "tessera/host.hpp"

using namespace loss_training;

struct half_quartic : ts::weighted_loss<quartic, ts::weight<1, 2>> {};
template <>
formula loss_training::formula_of<half_quartic>() {
    return {formula_of<quartic>().of, 1, 0.5};
}

TEST_CASE("losses of numbers train as their formulas say on the host") {
    const auto rows = ts::host::rows_of<ts::operators_of<regression<quartic>>>();
    CHECK(ts::host::operator_rows(rows).find(quartic::attributes) != nullptr); // not plain loops
    check<half_quartic, ts::host::backend>();
}
