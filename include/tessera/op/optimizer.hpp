// SPDX-License-Identifier: Apache-2.0
// Optimizers as settings. The definitions are PyTorch's, weight decay as L2 regularization included.
#pragma once

#include <cstdint>

namespace tessera {

/// g = gradient + weight_decay * w; v = momentum * v + g; w = w - learning_rate * v.
struct sgd {
    float learning_rate = 0.01F;
    float momentum = 0;
    float weight_decay = 0;
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

/// Either of them as one value. `learning_rate` is where a schedule starts: a step takes its rate from its run_state.
struct optimizer {
    enum class kind : std::uint8_t { sgd, adam };

    kind which = kind::sgd;
    float learning_rate = 0.01F;
    float momentum = 0;
    float weight_decay = 0;
    float beta1 = 0;
    float beta2 = 0;
    float epsilon = 0;
    /// Gradients are scaled by min(1, clip_norm / (norm + 1e-6)), norm being that of all trained gradients together; 0: they are not.
    float clip_norm = 0;
    /// Gradients are computed of the loss times this and divided by it before they are clipped and used, so that small ones do not
    /// vanish on their way (Micikevicius et al., "Mixed Precision Training", ICLR 2018, section 3.2). 1 is enough for bf16, which
    /// has the exponents of fp32. A power of two changes no digit of the result.
    float loss_scale = 1;

    constexpr optimizer() = default;
    constexpr optimizer(const sgd& s, float clip = 0, float scale = 1)
        : learning_rate(s.learning_rate), momentum(s.momentum), weight_decay(s.weight_decay), clip_norm(clip),
          loss_scale(scale) {}
    constexpr optimizer(const adam& a, float clip = 0, float scale = 1)
        : which(kind::adam), learning_rate(a.learning_rate), weight_decay(a.weight_decay), beta1(a.beta1),
          beta2(a.beta2), epsilon(a.epsilon), clip_norm(clip), loss_scale(scale) {}

    /// Numbers that are kept for each weight between steps: none, the velocity, or Adam's two moments.
    constexpr int state_count() const { return which == kind::adam ? 2 : momentum != 0 ? 1 : 0; }
    friend constexpr bool operator==(const optimizer&, const optimizer&) = default;
};

/// The factor of all gradients, of the scaled loss as they are, when those of all trained parameters together have the Euclidean norm
/// `norm`.
constexpr double clip_factor(const optimizer& how, double norm) {
    const double scale = static_cast<double>(how.loss_scale);
    const double factor = static_cast<double>(how.clip_norm) / (norm / scale + 1e-6);
    return (how.clip_norm > 0 && factor < 1 ? factor : 1) / scale;
}

} // namespace tessera
