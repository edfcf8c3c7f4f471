// SPDX-License-Identifier: Apache-2.0
// One optimizer step over a piece of a parameter, in plain loops.
#pragma once

#include "tessera/op/optimizer.hpp"
#include "tessera/task/compute.hpp"

#include <cmath>
#include <span>

namespace tessera::reference {

/// Updates weights from their gradients times `gradient_factor` (see clip_factor). `first` and `second` are the optimizer's state,
/// as many of them as state_count() says, zero before the first step. The step number, from 0, and the learning rate are the run's. An element
/// whose new weight or state would not be finite keeps both as they are; false where there is one.
template <class Real>
bool update(const optimizer& how, const run_state& run, double gradient_factor, std::span<Real> weights,
            std::span<const Real> gradients, std::span<Real> first, std::span<Real> second) {
    const double decay = static_cast<double>(how.weight_decay);
    const double beta1 = static_cast<double>(how.beta1);
    const double beta2 = static_cast<double>(how.beta2);
    const double steps = static_cast<double>(run.step) + 1;
    const bool is_adam = how.which == optimizer::kind::adam;
    const double correction1 = is_adam ? 1 - std::pow(beta1, steps) : 1;
    const double correction2 = is_adam ? 1 - std::pow(beta2, steps) : 1;
    bool all_finite = true;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const double w = static_cast<double>(weights[i]);
        const double g = static_cast<double>(gradients[i]) * gradient_factor + decay * w;
        double change = g;
        Real kept[2]{};
        if (is_adam) {
            const double m = beta1 * static_cast<double>(first[i]) + (1 - beta1) * g;
            const double v = beta2 * static_cast<double>(second[i]) + (1 - beta2) * g * g;
            kept[0] = static_cast<Real>(m);
            kept[1] = static_cast<Real>(v);
            change = m / correction1 / (std::sqrt(v / correction2) + static_cast<double>(how.epsilon));
        } else if (how.state_count() > 0) {
            change = static_cast<double>(how.momentum) * static_cast<double>(first[i]) + g;
            kept[0] = static_cast<Real>(change);
        }
        const Real result = static_cast<Real>(w - run.learning_rate * change);
        if (!std::isfinite(result) || !std::isfinite(kept[0]) || !std::isfinite(kept[1])) {
            all_finite = false;
            continue;
        }
        if (how.state_count() > 0) {
            first[i] = kept[0];
        }
        if (how.state_count() > 1) {
            second[i] = kept[1];
        }
        weights[i] = result;
    }
    return all_finite;
}

} // namespace tessera::reference
