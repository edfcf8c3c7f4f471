// SPDX-License-Identifier: Apache-2.0
// Bodies of placeto_options.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/placeto_options.hpp"

namespace tessera::learned {

TESSERA_INLINE void require(const placeto_options& o) {
    const option_check check("Placeto");
    const auto finite = [](double x, double least) { return is_finite(x) && x >= least; };
    if (o.episodes < 1 || o.passes < 1) {
        check.refuse(std::to_string(o.episodes) + " episodes of " + std::to_string(o.passes) +
                     " passes over the graph; give at least 1 of each");
    }
    if (!finite(o.discount, 0) || o.discount > 1) {
        check.refuse("a discount of " + fixed_text(o.discount) + "; give a number from 0 to 1");
    }
    if (!finite(o.memory_penalty, 0)) {
        check.refuse("a memory penalty of " + fixed_text(o.memory_penalty) + "; give a finite number of at least 0");
    }
    if (!finite(o.learning_rate, 0) || !finite(o.last_rate, 0) || o.learning_rate <= 0 || o.rate_updates < 1) {
        check.refuse("a learning rate that falls from " + fixed_text(o.learning_rate) + " to " +
                     fixed_text(o.last_rate) + " over " + std::to_string(o.rate_updates) +
                     " updates; give a first rate above 0 and at least 1 update");
    }
    check.clip_norm(o.clip_norm);
    check.entropy(o.entropy, o.entropy_updates);
    if (o.baseline_updates < 1) {
        check.refuse("a baseline over " + std::to_string(o.baseline_updates) + " updates; give at least 1");
    }
}

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
