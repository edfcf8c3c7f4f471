// SPDX-License-Identifier: Apache-2.0
// Gradients of an operator against central differences of its forward pass, in double.
#pragma once

#include "op/harness.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace tests {

/// The largest difference, relative to the norm. With the numbers of seed 1 no gradient of the table vanishes.
inline double check_gradients(const op_case& c, std::uint64_t seed = 1, bool may_vanish = false) {
    const double step = 1e-5;
    double largest = 0;
    op_instance op(c, seed);
    op.forward();
    op.backward();
    for (int o = 0; o < op.d.operands.size(); ++o) {
        const ts::operand_kind kind = op.d.operands[o].kind;
        if (ts::gradient_nest(op.d, o) < 0 || kind == ts::operand_kind::intermediate) {
            continue; // of the latter, what remains for the inputs is checked there
        }
        const std::vector<double> analytic = op.gradient[ts::to_size(o)].numbers;
        std::vector<double>& x = op.value[ts::to_size(o)].numbers;
        double error = 0;
        double norm = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double before = x[i];
            x[i] = before + step;
            const double above = op.objective();
            x[i] = before - step;
            const double below = op.objective();
            x[i] = before;
            const double numeric = (above - below) / (2 * step);
            error += (numeric - analytic[i]) * (numeric - analytic[i]);
            norm += numeric * numeric;
        }
        CAPTURE(c.name);
        CAPTURE(o);
        CHECK(
            (norm > 0 || may_vanish || (kind == ts::operand_kind::input && op.d.operands[o].slot == c.without_slope)));
        CHECK(std::sqrt(error) <= 1e-6 * std::sqrt(norm));
        largest = std::max(largest, norm > 0 ? std::sqrt(error / norm) : 0);
    }
    return largest;
}

} // namespace tests
