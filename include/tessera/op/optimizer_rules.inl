// SPDX-License-Identifier: Apache-2.0
// Bodies of optimizer_rules.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/optimizer_rules.hpp"

namespace tessera {

TESSERA_INLINE void require(const optimizer& o) {
    const auto refuse = [](const char* name, float value, const char* needed) {
        throw error("tessera: the optimizer's " + std::string(name) + " is " + fixed_text(value) + "; it must be " +
                    needed);
    };
    const auto at_least_0 = [&](const char* name, float x) {
        if (!(is_finite(x) && x >= 0)) {
            refuse(name, x, "a finite number of at least 0");
        }
    };
    const auto below_1 = [&](const char* name, float x) {
        if (!(x >= 0 && x < 1)) {
            refuse(name, x, "at least 0 and less than 1");
        }
    };
    const auto above_0 = [&](const char* name, float x) {
        if (!(is_finite(x) && x > 0)) {
            refuse(name, x, "a finite number above 0");
        }
    };
    at_least_0("learning rate", o.learning_rate);
    at_least_0("weight_decay", o.weight_decay);
    at_least_0("clip_norm", o.clip_norm);
    at_least_0("clip_value", o.clip_value);
    below_1("share that an average keeps", o.average);
    for (const parameter_group& x : o.groups) {
        at_least_0("factor of the learning rate in a group", x.rate);
        at_least_0("factor of the weight decay in a group", x.decay);
    }
    above_0("loss_scale", o.loss_scale);
    if (o.which == update_rule::kind::adam) {
        below_1("beta1", o.beta1);
    } else {
        below_1("momentum", o.momentum);
    }
    if (o.is_layerwise()) {
        above_0("epsilon", o.epsilon);
        above_0("trust_coefficient", o.trust_coefficient);
    }
    if (o.which != update_rule::kind::sgd) {
        below_1(o.which == update_rule::kind::adam ? "beta2" : "alpha", o.beta2);
        above_0("epsilon", o.epsilon);
    }
    if (o.nesterov && o.momentum == 0) {
        throw error("tessera: the optimizer has Nesterov's momentum and a momentum of 0; say how much, such as 0.9");
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
