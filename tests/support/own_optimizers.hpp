// SPDX-License-Identifier: Apache-2.0
// The optimizers once more, for one weight and in double, line by line as PyTorch's documentation writes their
// algorithms down.
#pragma once

#include "random_strategy.hpp"

#include "tessera/op/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace test_support {

/// What is kept for one weight.
struct own_state {
    double velocity = 0, mean = 0, square = 0;
};

/// LARS' and LAMB's ratio of norms in step t, of a whole parameter with its gradient: as the papers write it, and 1
/// where a norm is 0.
inline double own_trust(const ts::optimizer& update, const std::vector<double>& w, const std::vector<double>& gradient,
                        int t, const std::vector<own_state>& states) {
    const double decay = static_cast<double>(update.weight_decay);
    const double b1 = static_cast<double>(update.beta1);
    const double b2 = static_cast<double>(update.beta2);
    const double epsilon = static_cast<double>(update.epsilon);
    const double most = static_cast<double>(update.clip_value);
    double weights = 0, gradients = 0, updates = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
        const double g = most > 0 ? std::clamp(gradient[i], -most, most) : gradient[i];
        const double mean = (b1 * states[i].mean + (1 - b1) * g) / (1 - std::pow(b1, t));
        const double square = (b2 * states[i].square + (1 - b2) * g * g) / (1 - std::pow(b2, t));
        const double u = update.trust == ts::trust_by::update ? mean / (std::sqrt(square) + epsilon) + decay * w[i] : 0;
        weights += w[i] * w[i];
        gradients += g * g;
        updates += u * u;
    }
    const double w_norm = std::sqrt(weights);
    if (update.trust == ts::trust_by::gradient && weights > 0 && gradients > 0) {
        return static_cast<double>(update.trust_coefficient) * w_norm /
               (std::sqrt(gradients) + decay * w_norm + epsilon);
    }
    return update.trust == ts::trust_by::update && weights > 0 && updates > 0 ? w_norm / std::sqrt(updates) : 1;
}

/// One step, t = 1, 2, ..., of a weight with its gradient, and with the ratio of norms where there is one.
inline double own_step(const ts::optimizer& update, double w, double g, double rate, int t, own_state& s,
                       double trust = 1) {
    const double decay = static_cast<double>(update.weight_decay);
    const double momentum = static_cast<double>(update.momentum);
    const double b1 = static_cast<double>(update.beta1);
    const double b2 = static_cast<double>(update.beta2);
    const double epsilon = static_cast<double>(update.epsilon);
    const double most = static_cast<double>(update.clip_value);
    g = most > 0 ? std::clamp(g, -most, most) : g;
    rate *= update.trust == ts::trust_by::update ? trust : 1;
    if (update.decoupled) {
        w = w - rate * decay * w;
    } else if (decay != 0) {
        g = g + decay * w;
    }
    g *= update.trust == ts::trust_by::gradient ? trust : 1;
    if (update.which == ts::optimizer::kind::sgd) {
        if (momentum == 0) {
            return w - rate * g;
        }
        s.velocity = t == 1 ? g : momentum * s.velocity + g;
        return w - rate * (update.nesterov ? g + momentum * s.velocity : s.velocity);
    }
    if (update.which == ts::optimizer::kind::adam) {
        s.mean = b1 * s.mean + (1 - b1) * g;
        s.square = b2 * s.square + (1 - b2) * g * g;
        const double mean = s.mean / (1 - std::pow(b1, t));
        const double square = s.square / (1 - std::pow(b2, t));
        return w - rate * mean / (std::sqrt(square) + epsilon);
    }
    s.square = b2 * s.square + (1 - b2) * g * g;
    double square = s.square;
    if (update.centered) {
        s.mean = b2 * s.mean + (1 - b2) * g;
        square -= s.mean * s.mean;
    }
    const double change = g / (std::sqrt(square) + epsilon);
    if (momentum == 0) {
        return w - rate * change;
    }
    s.velocity = momentum * s.velocity + change;
    return w - rate * s.velocity;
}

/// Every kind of step that is scaled parameter by parameter, by name.
inline std::vector<std::pair<std::string, ts::optimizer>> layerwise_optimizers() {
    return {
        {"LARS", ts::lars{.learning_rate = 0.5F, .weight_decay = 0.01F, .trust_coefficient = 0.1F}},
        {"LAMB", ts::lamb{.learning_rate = 0.05F, .epsilon = 1e-3F, .weight_decay = 0.1F}},
        {"LARS without momentum", ts::lars{.learning_rate = 0.5F, .momentum = 0, .trust_coefficient = 0.1F}},
        {"LAMB of clipped elements with averages",
         ts::optimizer(ts::lamb{.learning_rate = 0.05F, .epsilon = 1e-3F}).clipped_to(0.02F).averaging(0.9F)},
        {"LARS of clipped elements, Nesterov",
         ts::optimizer(
             ts::lars{.learning_rate = 0.5F, .weight_decay = 0.01F, .trust_coefficient = 0.1F, .nesterov = true})
             .clipped_to(0.01F)},
    };
}

/// Every kind of step of a weight by itself, by name.
inline std::vector<std::pair<std::string, ts::optimizer>> all_optimizers() {
    return {
        {"SGD", ts::sgd{.learning_rate = 0.1F, .weight_decay = 0.01F}},
        {"momentum", ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F}},
        {"Nesterov", ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F, .nesterov = true}},
        {"Adam", ts::adam{.learning_rate = 0.01F, .epsilon = 1e-3F, .weight_decay = 0.01F}},
        {"AdamW", ts::adamw{.learning_rate = 0.01F, .epsilon = 1e-3F, .weight_decay = 0.5F}},
        {"RMSProp", ts::rmsprop{.learning_rate = 0.01F, .alpha = 0.9F, .epsilon = 1e-2F, .weight_decay = 0.01F}},
        {"RMSProp with momentum",
         ts::rmsprop{.learning_rate = 0.01F, .alpha = 0.9F, .epsilon = 1e-2F, .momentum = 0.9F}},
        {"centered RMSProp", ts::rmsprop{.learning_rate = 0.01F, .alpha = 0.9F, .epsilon = 1e-2F, .centered = true}},
        {"centered RMSProp with momentum",
         ts::rmsprop{.learning_rate = 0.01F, .alpha = 0.9F, .epsilon = 1e-2F, .momentum = 0.9F, .centered = true}},
        {"momentum of clipped elements",
         ts::optimizer(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F}).clipped_to(0.01F)},
        {"AdamW of clipped elements with averages",
         ts::optimizer(ts::adamw{.learning_rate = 0.01F, .epsilon = 1e-3F}).clipped_to(0.02F).averaging(0.9F)},
    };
}

} // namespace test_support
