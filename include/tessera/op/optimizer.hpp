// SPDX-License-Identifier: Apache-2.0
// Optimizers as settings. The definitions are PyTorch's.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/fixed_vector.hpp"
#include "tessera/base/type_name.hpp"

#include <cstdint>

namespace tessera {

/// g = gradient + weight_decay * w; v = momentum * v + g; w = w - learning_rate * v, or, with `nesterov`, w -
/// learning_rate * (g + momentum * v) (Sutskever et al., "On the importance of initialization and momentum in deep
/// learning", ICML 2013).
struct sgd {
    float learning_rate = 0.01F;
    float momentum = 0;
    float weight_decay = 0;
    bool nesterov = false; ///< needs a momentum
};

/// Kingma and Ba, "Adam" (ICLR 2015), with g = gradient + weight_decay * w:
/// m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g^2;
/// w = w - learning_rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon) in step t = 1, 2, ...
struct adam {
    float learning_rate = 1e-3F;
    float beta1 = 0.9F;
    float beta2 = 0.999F;
    float epsilon = 1e-8F;
    float weight_decay = 0;
};

/// Adam with decoupled weight decay (Loshchilov and Hutter, ICLR 2019): g is the gradient alone, and the weight is
/// multiplied by 1 - learning_rate * weight_decay before the step.
struct adamw {
    float learning_rate = 1e-3F;
    float beta1 = 0.9F;
    float beta2 = 0.999F;
    float epsilon = 1e-8F;
    float weight_decay = 0.01F;
};

/// Tieleman and Hinton's RMSProp (2012) as PyTorch has it, with g = gradient + weight_decay * w: v = alpha * v + (1 -
/// alpha) * g^2; d = g / (sqrt(v) + epsilon). Centered: a = alpha * a + (1 - alpha) * g, and v - a^2, at least 0, under
/// the root (Graves 2013). With a momentum b = momentum * b + d and w = w - learning_rate * b, else w = w -
/// learning_rate * d.
struct rmsprop {
    float learning_rate = 0.01F;
    float alpha = 0.99F;
    float epsilon = 1e-8F;
    float weight_decay = 0;
    float momentum = 0;
    bool centered = false;
};

/// LARS (You, Gitman, Ginsburg, "Large Batch Training of Convolutional Networks", 2017): momentum whose steps are
/// scaled parameter by parameter by r = trust_coefficient * |w| / (|g| + weight_decay * |w| + epsilon), with Euclidean
/// norms of the whole parameter's weights and gradient, and 1 where one of them is 0: v = momentum * v + r * (g +
/// weight_decay * w); w = w - learning_rate * v. The rate is outside of the velocity, as in PyTorch's SGD. Which
/// parameters are left out is for groups to say.
struct lars {
    float learning_rate = 0.1F;
    float momentum = 0.9F;
    float weight_decay = 0;
    float trust_coefficient = 0.001F;
    float epsilon = 1e-8F;
    bool nesterov = false; ///< needs a momentum
};

/// LAMB (You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes", ICLR 2020, algorithm 2
/// with phi(z) = z): with Adam's moments u = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay *
/// w; w = w - learning_rate * r * u, where r = |w| / |u| with Euclidean norms of the whole parameter, and 1 where one
/// of them is 0.
struct lamb {
    float learning_rate = 1e-3F;
    float beta1 = 0.9F;
    float beta2 = 0.999F;
    float epsilon = 1e-6F;
    float weight_decay = 0.01F;
};

/// By what a parameter's steps are scaled besides the learning rate.
enum class trust_by : std::uint8_t {
    none,
    gradient, ///< LARS: the norm of the weights by that of the gradient
    update    ///< LAMB: by that of the update
};

constexpr const char* to_text(trust_by t) {
    constexpr const char* names[] = {"none", "gradient", "update"};
    return names[static_cast<int>(t)];
}

/// The most numbers that an optimizer keeps for each weight.
inline constexpr int most_optimizer_states = 4;

/// What is done to a parameter: any of them as one value. `learning_rate` is where a schedule starts: a step takes its
/// rate from its run_state.
struct update_rule {
    enum class kind : std::uint8_t { sgd, adam, rmsprop };
    friend constexpr const char* to_text(kind k) {
        constexpr const char* names[] = {"sgd", "adam", "rmsprop"};
        return names[static_cast<int>(k)];
    }

    kind which = kind::sgd;
    float learning_rate = 0.01F;
    float momentum = 0;
    float weight_decay = 0;
    float beta1 = 0;
    float beta2 = 0; ///< of squares: RMSProp's alpha too
    float epsilon = 0;
    bool nesterov = false;
    bool decoupled = false; ///< weight decay
    bool centered = false;
    trust_by trust = trust_by::none;
    float trust_coefficient = 1;
    float rate_factor = 1; ///< of the learning rate of every step
    /// Elements of gradients are brought between -clip_value and clip_value, after the scaling by their norm; 0: they
    /// are not.
    float clip_value = 0;
    /// A moving average of every trained weight is kept, average * a + (1 - average) * w after each step, beginning
    /// with the initial weights (Polyak and Juditsky 1992): for evaluations and predictions (session::use_ema). 0:
    /// none.
    float average = 0;
    /// Weights that have been pruned stay as they are, and so does what is kept of them. A pruned weight is the number
    /// -0 (execute/pruning.hpp).
    bool prunes = false;
    /// Gradients are scaled by min(1, clip_norm / (norm + 1e-6)), norm being that of all trained gradients together; 0:
    /// they are not.
    float clip_norm = 0;
    /// Gradients are computed of the loss times this and divided by it before they are clipped and used, so that small
    /// ones do not vanish on their way (Micikevicius et al., "Mixed Precision Training", ICLR 2018, section 3.2). 1 is
    /// enough for bf16, which has the exponents of fp32. A power of two changes no digit of the result.
    float loss_scale = 1;

    /// Numbers that the update needs of each weight between steps: none, the velocity, Adam's two moments, RMSProp's
    /// squares with what else it has.
    constexpr int own_state_count() const {
        const int velocity = momentum != 0 ? 1 : 0;
        return which == kind::adam ? 2 : which == kind::rmsprop ? 1 + (centered ? 1 : 0) + velocity : velocity;
    }
    /// The same with the average, which is the last.
    constexpr int state_count() const { return own_state_count() + (average != 0 ? 1 : 0); }
    /// Adam's moments are divided by 1 - beta^t.
    constexpr bool has_corrections() const { return which == kind::adam; }
    /// A parameter's step needs norms of the whole parameter.
    constexpr bool is_layerwise() const { return trust != trust_by::none; }
    friend constexpr bool operator==(const update_rule&, const update_rule&) = default;

    /// All fields by name (strategy/described.hpp).
    template <class See>
    static constexpr void each_field(See&& see) {
        using u = update_rule;
        see("which", &u::which, {});
        see("learning_rate", &u::learning_rate, {});
        see("momentum", &u::momentum, {});
        see("weight_decay", &u::weight_decay, {});
        see("beta1", &u::beta1, {});
        see("beta2", &u::beta2, {});
        see("epsilon", &u::epsilon, {});
        see("nesterov", &u::nesterov, {});
        see("decoupled", &u::decoupled, {});
        see("centered", &u::centered, {});
        see("trust", &u::trust, {});
        see("trust_coefficient", &u::trust_coefficient, {});
        see("rate_factor", &u::rate_factor, {});
        see("clip_value", &u::clip_value, {});
        see("average", &u::average, {});
        see("prunes", &u::prunes, {});
        see("clip_norm", &u::clip_norm, {});
        see("loss_scale", &u::loss_scale, {});
    }
};

/// A rule's numbers as a backend's formulas take them (update_formulas.hpp).
template <class Settings>
constexpr Settings settings_in(const update_rule& update) {
    Settings s{};
    s.momentum = static_cast<double>(update.momentum);
    s.weight_decay = static_cast<double>(update.weight_decay);
    s.beta1 = static_cast<double>(update.beta1);
    s.beta2 = static_cast<double>(update.beta2);
    s.epsilon = static_cast<double>(update.epsilon);
    s.rate_factor = static_cast<double>(update.rate_factor);
    s.clip_value = static_cast<double>(update.clip_value);
    s.average = static_cast<double>(update.average);
    s.trust_coefficient = static_cast<double>(update.trust_coefficient);
    s.trust_decay = update.trust == trust_by::gradient ? static_cast<double>(update.weight_decay) : 0;
    s.trust_epsilon = update.trust == trust_by::gradient ? static_cast<double>(update.epsilon) : 0;
    s.decoupled = update.decoupled;
    s.prunes = update.prunes;
    return s;
}

/// What an optimizer must be, as functions that no constant expression can call: of a `constexpr ts::optimizer` they
/// are the compile error. (What is made while a program runs is checked by require(), op/optimizer_rules.hpp.)
namespace optimizer_rules {

inline void the_learning_rate_must_be_at_least_0(float) {}
inline void the_weight_decay_must_be_at_least_0(float) {}
inline void the_momentum_must_be_at_least_0_and_less_than_1(float) {}
inline void beta1_must_be_at_least_0_and_less_than_1(float) {}
inline void beta2_and_alpha_must_be_at_least_0_and_less_than_1(float) {}
inline void epsilon_must_be_above_0(float) {}
inline void the_trust_coefficient_must_be_above_0(float) {}
inline void clipping_must_be_by_at_least_0(float) {}
inline void the_scale_of_the_loss_must_be_above_0(float) {}
inline void averages_must_keep_at_least_0_and_less_than_1(float) {}
inline void nesterov_needs_a_momentum(float) {}

constexpr bool is_share(float x) { return x >= 0 && x < 1; }

constexpr void check(const update_rule& o) {
    if (!(o.learning_rate >= 0)) {
        the_learning_rate_must_be_at_least_0(o.learning_rate);
    }
    if (!(o.weight_decay >= 0)) {
        the_weight_decay_must_be_at_least_0(o.weight_decay);
    }
    if (!is_share(o.momentum)) {
        the_momentum_must_be_at_least_0_and_less_than_1(o.momentum);
    }
    if (!is_share(o.beta1)) {
        beta1_must_be_at_least_0_and_less_than_1(o.beta1);
    }
    if (!is_share(o.beta2)) {
        beta2_and_alpha_must_be_at_least_0_and_less_than_1(o.beta2);
    }
    if (!((o.which == update_rule::kind::sgd && !o.is_layerwise()) || o.epsilon > 0)) {
        epsilon_must_be_above_0(o.epsilon);
    }
    if (!(o.trust_coefficient > 0)) {
        the_trust_coefficient_must_be_above_0(o.trust_coefficient);
    }
    if (!(o.clip_norm >= 0)) {
        clipping_must_be_by_at_least_0(o.clip_norm);
    }
    if (!(o.clip_value >= 0)) {
        clipping_must_be_by_at_least_0(o.clip_value);
    }
    if (!(o.loss_scale > 0)) {
        the_scale_of_the_loss_must_be_above_0(o.loss_scale);
    }
    if (!is_share(o.average)) {
        averages_must_keep_at_least_0_and_less_than_1(o.average);
    }
    if (o.momentum == 0 && o.nesterov) {
        nesterov_needs_a_momentum(o.momentum);
    }
}

} // namespace optimizer_rules

/// Parameters that are updated with another rate or decay than others: those of a layer (or of one instance of it), of
/// a path, or all of one dimension.
struct parameter_group {
    type_key layer = 0; ///< 0: by their path, or, where that is empty too, biases and what norms have
    int instance = -1;  ///< of the layer; -1: all
    fixed_vector<char, 64> path{};
    float rate = 1;          ///< the learning rate is multiplied by this; 0 keeps them as they are
    float decay = 1;         ///< the weight decay is multiplied by this
    bool trust_ratio = true; ///< false: the steps of LARS and LAMB are not scaled

    friend constexpr bool operator==(const parameter_group&, const parameter_group&) = default;

    template <class See>
    static constexpr void each_field(See&& see) {
        using p = parameter_group;
        see("layer", &p::layer, {});
        see("instance", &p::instance, {});
        see("path", &p::path, {});
        see("rate", &p::rate, {});
        see("decay", &p::decay, {});
        see("trust_ratio", &p::trust_ratio, {});
    }
};
inline constexpr int most_parameter_groups = 8;

/// How a network is trained.
struct optimizer : update_rule {
    /// A parameter in several has the factors of all.
    fixed_vector<parameter_group, most_parameter_groups> groups{};

    constexpr optimizer() = default;
    constexpr optimizer(const sgd& s, float clip = 0, float scale = 1) : optimizer(clip, scale) {
        learning_rate = s.learning_rate;
        momentum = s.momentum;
        weight_decay = s.weight_decay;
        nesterov = s.nesterov;
        check_constant();
    }
    constexpr optimizer(const adam& a, float clip = 0, float scale = 1) : optimizer(clip, scale) {
        which = kind::adam;
        learning_rate = a.learning_rate;
        weight_decay = a.weight_decay;
        beta1 = a.beta1;
        beta2 = a.beta2;
        epsilon = a.epsilon;
        check_constant();
    }
    constexpr optimizer(const adamw& a, float clip = 0, float scale = 1)
        : optimizer(adam{a.learning_rate, a.beta1, a.beta2, a.epsilon, a.weight_decay}, clip, scale) {
        decoupled = true;
    }
    constexpr optimizer(const rmsprop& r, float clip = 0, float scale = 1) : optimizer(clip, scale) {
        which = kind::rmsprop;
        learning_rate = r.learning_rate;
        weight_decay = r.weight_decay;
        momentum = r.momentum;
        beta2 = r.alpha;
        epsilon = r.epsilon;
        centered = r.centered;
        check_constant();
    }

    constexpr optimizer(const lars& l, float clip = 0, float scale = 1)
        : optimizer(sgd{l.learning_rate, l.momentum, l.weight_decay, l.nesterov}, clip, scale) {
        trust = trust_by::gradient;
        trust_coefficient = l.trust_coefficient;
        epsilon = l.epsilon;
        check_constant();
    }
    constexpr optimizer(const lamb& l, float clip = 0, float scale = 1)
        : optimizer(adamw{l.learning_rate, l.beta1, l.beta2, l.epsilon, l.weight_decay}, clip, scale) {
        trust = trust_by::update;
    }

    /// The same with elements of gradients brought between -most and most.
    constexpr optimizer clipped_to(float most) const {
        optimizer o = *this;
        o.clip_value = most;
        o.check_constant();
        return o;
    }
    /// The same with moving averages of the weights.
    constexpr optimizer averaging(float share) const {
        optimizer o = *this;
        o.average = share;
        o.check_constant();
        return o;
    }

    /// The same with weights that can be pruned (execute/pruning.hpp).
    constexpr optimizer pruning() const {
        optimizer o = *this;
        o.prunes = true;
        return o;
    }

    friend constexpr bool operator==(const optimizer&, const optimizer&) = default;

    template <class See>
    static constexpr void each_field(See&& see) {
        update_rule::each_field(see);
        see("groups", &optimizer::groups, {});
    }

private:
    constexpr void check_constant() const {
        if (__builtin_is_constant_evaluated()) {
            optimizer_rules::check(*this);
        }
    }
    constexpr optimizer(float clip, float scale) {
        clip_norm = clip;
        loss_scale = scale;
    }
};

/// The factor of all gradients, of the scaled loss as they are, when those of all trained parameters together have the
/// Euclidean norm `norm`.
constexpr double clip_factor(const update_rule& update, double norm) {
    const double scale = static_cast<double>(update.loss_scale);
    const double factor = static_cast<double>(update.clip_norm) / (norm / scale + 1e-6);
    return (update.clip_norm > 0 && factor < 1 ? factor : 1) / scale;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
