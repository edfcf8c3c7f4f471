// SPDX-License-Identifier: Apache-2.0
// One optimizer step over a piece of a parameter, in plain loops.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/finite.hpp"
#include "tessera/op/optimizer.hpp"
#include "tessera/op/update_formulas.hpp"
#include "tessera/task/compute.hpp"

#include <cmath>
#include <span>

namespace tessera::reference {

namespace formulas {

inline double square_root(double x) { return std::sqrt(x); }

TESSERA_UPDATE_NUMBERS(inline)
TESSERA_UPDATE_FORMULAS(inline)

} // namespace formulas

namespace detail {

template <class Formula, class Real>
bool update_by(const update_rule& update, const formulas::update_numbers<double>& n, double gradient_factor,
               std::span<Real> weights, std::span<const Real> gradients, std::span<Real> states) {
    const std::size_t count = weights.size();
    bool all_finite = true;
    for (std::size_t i = 0; i < count; ++i) {
        double s[Formula::states + 1]{};
        for (std::size_t k = 0; k < Formula::states; ++k) {
            s[k] = static_cast<double>(states[k * count + i]);
        }
        double g = static_cast<double>(gradients[i]) * gradient_factor;
        g = update.clip_value > 0 ? formulas::between(g, -n.limit, n.limit) : g;
        if (update.prunes && formulas::is_pruned(weights[i])) {
            continue;
        }
        auto result = static_cast<Real>(Formula::step(static_cast<double>(weights[i]), g, s, n));
        result = update.prunes ? result + Real{} : result;
        bool finite = is_finite(result);
        for (std::size_t k = 0; k < Formula::states; ++k) {
            finite = finite && is_finite(static_cast<Real>(s[k]));
        }
        all_finite = all_finite && finite;
        for (std::size_t k = 0; k < Formula::states && finite; ++k) {
            states[k * count + i] = static_cast<Real>(s[k]);
        }
        weights[i] = finite ? result : weights[i];
        if (update.average != 0) {
            Real& average = states[Formula::states * count + i];
            average = static_cast<Real>(static_cast<double>(average) +
                                        n.fading * (static_cast<double>(weights[i]) - static_cast<double>(average)));
        }
    }
    return all_finite;
}

} // namespace detail

/// Updates weights from their gradients times `gradient_factor` (see clip_factor). `states` is what the optimizer
/// keeps: for each of state_count() numbers those of all weights, zero before the first step. The step number, from 0,
/// and the learning rate are the run's. An element whose new weight or state would not be finite keeps both as they
/// are; false where there is one. `trust` is the ratio of norms that scales the step where the rule asks for one, see
/// squares_of().
template <class Real>
bool update(const update_rule& update, const run_state& run, double gradient_factor, std::span<Real> weights,
            std::span<const Real> gradients, std::span<Real> states, double trust = 1) {
    const auto settings = settings_in<formulas::update_settings>(update);
    const double steps = static_cast<double>(run.step) + 1;
    const auto correction = [&](double beta) { return update.has_corrections() ? 1 - std::pow(beta, steps) : 1; };
    const double rate = run.learning_rate * (update.trust == trust_by::update ? trust : 1);
    auto n = formulas::numbers_of<double>(settings, rate, correction(settings.beta1), correction(settings.beta2));
    n.trust = trust;
    const bool velocity = update.momentum != 0;
    const auto by = [&]<class Formula>(Formula) {
        return detail::update_by<Formula>(update, n, gradient_factor, weights, gradients, states);
    };
    switch (update.which) {
    case update_rule::kind::adam:
        return update.decoupled ? by(formulas::adam_formula<true>()) : by(formulas::adam_formula<false>());
    case update_rule::kind::rmsprop:
        return update.centered ? velocity ? by(formulas::rmsprop_formula<true, true>())
                                          : by(formulas::rmsprop_formula<true, false>())
               : velocity ? by(formulas::rmsprop_formula<false, true>())
                               : by(formulas::rmsprop_formula<false, false>());
    case update_rule::kind::sgd:
        break;
    }
    if (update.trust == trust_by::gradient) {
        return !velocity         ? by(formulas::sgd_formula<false, false, true>())
               : update.nesterov ? by(formulas::sgd_formula<true, true, true>())
                                 : by(formulas::sgd_formula<true, false, true>());
    }
    return !velocity         ? by(formulas::sgd_formula<false, false>())
           : update.nesterov ? by(formulas::sgd_formula<true, true>())
                             : by(formulas::sgd_formula<true, false>());
}

/// What scales the steps of a whole parameter: sums of squares of its weights and of its gradient, or of what LAMB
/// takes from them before the rate.
struct layer_squares {
    double weights = 0;
    double measured = 0;
};

/// The squares of some of a parameter's weights and of what belongs to them, of elements for which `counts(i)` holds;
/// arguments as of update().
template <class Real, class Counts>
layer_squares squares_of(const update_rule& update, const run_state& run, double gradient_factor,
                         std::span<const Real> weights, std::span<const Real> gradients, std::span<const Real> states,
                         Counts&& counts) {
    const auto settings = settings_in<formulas::update_settings>(update);
    const double steps = static_cast<double>(run.step) + 1;
    const auto n = formulas::numbers_of<double>(settings, run.learning_rate, 1 - std::pow(settings.beta1, steps),
                                                1 - std::pow(settings.beta2, steps));
    const bool of_update = update.trust == trust_by::update;
    layer_squares sum;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (!counts(i) || (update.prunes && formulas::is_pruned(weights[i]))) {
            continue;
        }
        const auto w = static_cast<double>(weights[i]);
        double g = static_cast<double>(gradients[i]) * gradient_factor;
        g = update.clip_value > 0 ? formulas::between(g, -n.limit, n.limit) : g;
        double s[2]{};
        for (std::size_t k = 0; k < 2 && of_update; ++k) {
            s[k] = static_cast<double>(states[k * weights.size() + i]);
        }
        const double x = of_update ? formulas::adam_formula<true>::measured(w, g, s, n)
                                   : formulas::sgd_formula<false, false, true>::measured(w, g, s, n);
        sum.weights += w * w;
        sum.measured += x * x;
    }
    return sum;
}

/// By how much a parameter's steps are scaled, given the squares of all of it.
double trust_of(const update_rule& update, const layer_squares& all);

} // namespace tessera::reference

#ifndef TESSERA_COMPILED
#include "tessera/backend/reference/update.inl"
#endif

#include "tessera/base/end_header.inl"
