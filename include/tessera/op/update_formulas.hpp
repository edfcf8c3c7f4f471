// SPDX-License-Identifier: Apache-2.0
// What optimizers do to one weight, written once: as code of the reference backend (doubles), of the host's kernels
// (vectors, once for each instruction set) and, as text, of CUDA's kernels.
#pragma once

/// Where it is used there are square_root(V) and, for what an architecture wants before a function, `FUNCTION`. A
/// formula has `states`, the numbers that it keeps for each weight, zero before the first step, and step(w, g, s, n):
/// the new weight for a weight, the gradient that is summed, scaled and clipped, the states (which it sets), and the
/// step's numbers. Where steps are scaled parameter by parameter there is measured(w, g, s, n), of which trust_of()
/// takes the squares beside those of the weights: LARS' gradient, and what LAMB takes from the weight, before the rate.
/// LAMB's ratio then multiplies the learning rate that numbers_of() is given, LARS' is `trust`. No preprocessor
/// directives, nothing included: it must be a text for NVRTC too.
///
/// The definitions are PyTorch's (torch.optim, 2.x): SGD with `dampening` 0, Adam and AdamW without `amsgrad`, RMSprop.
/// A formula adds decay * w to the gradient (L2), or multiplies the weight with `shrink` (decoupled).
// NOLINTBEGIN(cppcoreguidelines-macro-usage,bugprone-macro-parentheses): the one way to have one text in several namespaces and in a string
#define TESSERA_UPDATE_NUMBERS(FUNCTION)                                                                               \
    template <class V>                                                                                                 \
    struct update_numbers {                                                                                            \
        V rate;                                                                                                        \
        V decay;                                                                                                       \
        V shrink;                                                                                                      \
        V momentum;                                                                                                    \
        V beta1;                                                                                                       \
        V rest1;                                                                                                       \
        V beta2;                                                                                                       \
        V rest2;                                                                                                       \
        V root;                                                                                                        \
        V epsilon;                                                                                                     \
        V limit;                                                                                                       \
        V fading;                                                                                                      \
        V trust;                                                                                                       \
        V unbiased;                                                                                                    \
        V pull;                                                                                                        \
    };                                                                                                                 \
    struct update_settings {                                                                                           \
        double momentum;                                                                                               \
        double weight_decay;                                                                                           \
        double beta1;                                                                                                  \
        double beta2;                                                                                                  \
        double epsilon;                                                                                                \
        double rate_factor;                                                                                            \
        double clip_value;                                                                                             \
        double average;                                                                                                \
        double trust_coefficient;                                                                                      \
        double trust_decay;                                                                                            \
        double trust_epsilon;                                                                                          \
        bool decoupled;                                                                                                \
        bool prunes;                                                                                                   \
    };                                                                                                                 \
    template <class V>                                                                                                 \
    FUNCTION update_numbers<V> numbers_of(const update_settings& update, double learning_rate, double correction1,     \
                                          double correction2) {                                                        \
        const double rate = learning_rate * update.rate_factor;                                                        \
        update_numbers<V> n;                                                                                           \
        n.rate = static_cast<V>(rate / correction1);                                                                   \
        n.decay = static_cast<V>(update.decoupled ? 0.0 : update.weight_decay);                                        \
        n.shrink = static_cast<V>(update.decoupled ? 1.0 - rate * update.weight_decay : 1.0);                          \
        n.momentum = static_cast<V>(update.momentum);                                                                  \
        n.beta1 = static_cast<V>(update.beta1);                                                                        \
        n.rest1 = static_cast<V>(1.0 - update.beta1);                                                                  \
        n.beta2 = static_cast<V>(update.beta2);                                                                        \
        n.rest2 = static_cast<V>(1.0 - update.beta2);                                                                  \
        n.root = static_cast<V>(1.0 / square_root(correction2));                                                       \
        n.epsilon = static_cast<V>(update.epsilon);                                                                    \
        n.limit = static_cast<V>(update.clip_value);                                                                   \
        n.fading = static_cast<V>(1.0 - update.average);                                                               \
        n.trust = static_cast<V>(1.0);                                                                                 \
        n.unbiased = static_cast<V>(1.0 / correction1);                                                                \
        n.pull = static_cast<V>(update.decoupled ? update.weight_decay : 0.0);                                         \
        return n;                                                                                                      \
    }                                                                                                                  \
    FUNCTION double trust_of(const update_settings& update, double weights, double measured) {                         \
        const double w = square_root(weights);                                                                         \
        const double m = square_root(measured);                                                                        \
        return w > 0 && m > 0 ? update.trust_coefficient * w / (m + update.trust_decay * w + update.trust_epsilon)     \
                              : 1.0;                                                                                   \
    }

#define TESSERA_IS_PRUNED(FUNCTION)                                                                                    \
    /* A pruned weight is -0: the one zero that no step makes, as 0 is added to what it makes (-0 + 0 is 0). */        \
    template <class V>                                                                                                 \
    FUNCTION bool is_pruned(V w) {                                                                                     \
        return w == V{} && V{1} / w < V{};                                                                             \
    }

#define TESSERA_UPDATE_FORMULAS(FUNCTION)                                                                              \
    TESSERA_IS_PRUNED(FUNCTION)                                                                                        \
    template <class V>                                                                                                 \
    FUNCTION V between(V x, V low, V high) {                                                                           \
        const V risen = x < low ? low : x;                                                                             \
        return risen > high ? high : risen;                                                                            \
    }                                                                                                                  \
    template <bool Momentum, bool Nesterov, bool Trust = false>                                                        \
    struct sgd_formula {                                                                                               \
        static constexpr int states = Momentum ? 1 : 0;                                                                \
        template <class V>                                                                                             \
        FUNCTION static V step(V w, V gradient, V* s, const update_numbers<V>& n) {                                    \
            V g = gradient + n.decay * w;                                                                              \
            if constexpr (Trust) {                                                                                     \
                g = n.trust * g;                                                                                       \
            }                                                                                                          \
            if constexpr (Momentum) {                                                                                  \
                s[0] = n.momentum * s[0] + g;                                                                          \
                return w - n.rate * (Nesterov ? g + n.momentum * s[0] : s[0]);                                         \
            }                                                                                                          \
            return w - n.rate * g;                                                                                     \
        }                                                                                                              \
        template <class V>                                                                                             \
        FUNCTION static V measured(V, V gradient, const V*, const update_numbers<V>&) {                                \
            return gradient;                                                                                           \
        }                                                                                                              \
    };                                                                                                                 \
    template <bool Decoupled>                                                                                          \
    struct adam_formula {                                                                                              \
        static constexpr int states = 2;                                                                               \
        template <class V>                                                                                             \
        FUNCTION static V step(V w, V gradient, V* s, const update_numbers<V>& n) {                                    \
            const V g = Decoupled ? gradient : gradient + n.decay * w;                                                 \
            s[0] = n.beta1 * s[0] + n.rest1 * g;                                                                       \
            s[1] = n.beta2 * s[1] + n.rest2 * (g * g);                                                                 \
            const V kept = Decoupled ? n.shrink * w : w;                                                               \
            return kept - n.rate * s[0] / (square_root(s[1]) * n.root + n.epsilon);                                    \
        }                                                                                                              \
        template <class V>                                                                                             \
        FUNCTION static V measured(V w, V gradient, const V* s, const update_numbers<V>& n) {                          \
            const V g = Decoupled ? gradient : gradient + n.decay * w;                                                 \
            const V m = n.beta1 * s[0] + n.rest1 * g;                                                                  \
            const V v = n.beta2 * s[1] + n.rest2 * (g * g);                                                            \
            return n.unbiased * m / (square_root(v) * n.root + n.epsilon) + n.pull * w;                                \
        }                                                                                                              \
    };                                                                                                                 \
    template <bool Centered, bool Momentum>                                                                            \
    struct rmsprop_formula {                                                                                           \
        static constexpr int states = 1 + (Centered ? 1 : 0) + (Momentum ? 1 : 0);                                     \
        template <class V>                                                                                             \
        FUNCTION static V step(V w, V gradient, V* s, const update_numbers<V>& n) {                                    \
            const V g = gradient + n.decay * w;                                                                        \
            s[0] = n.beta2 * s[0] + n.rest2 * (g * g);                                                                 \
            V spread = s[0];                                                                                           \
            if constexpr (Centered) {                                                                                  \
                s[1] = n.beta2 * s[1] + n.rest2 * g;                                                                   \
                spread = spread - s[1] * s[1];                                                                         \
                spread = spread < V{} ? V{} : spread;                                                                  \
            }                                                                                                          \
            V change = g / (square_root(spread) + n.epsilon);                                                          \
            if constexpr (Momentum) {                                                                                  \
                constexpr int last = states - 1;                                                                       \
                s[last] = n.momentum * s[last] + change;                                                               \
                change = s[last];                                                                                      \
            }                                                                                                          \
            return w - n.rate * change;                                                                                \
        }                                                                                                              \
    };
// NOLINTEND(cppcoreguidelines-macro-usage,bugprone-macro-parentheses)
