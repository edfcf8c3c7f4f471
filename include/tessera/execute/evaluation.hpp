// SPDX-License-Identifier: Apache-2.0
// What an evaluation of a batch says.
#pragma once

#include "tessera/op/elementwise.hpp"

#include <span>

namespace tessera {

struct evaluation {
    double loss = 0;     ///< as in training: the weighted sum of the losses' means
    index_t correct = 0; ///< rows of the first loss whose largest logit is the label's
    index_t rows = 0;
};

namespace detail {

/// Counts rows of logits of extents `x` whose largest one is the label's.
inline void count_correct(const shape& x, std::span<const float> logits, const std::int32_t* labels, evaluation& e) {
    const int axis = op::channel_dimension(x.rank);
    const index_t classes = x[axis];
    const index_t blocks = axis == 1 ? x[0] : x[0] * x[1];
    const index_t pixels = x.volume() / blocks / classes;
    for (index_t n = 0; n < blocks; ++n) {
        for (index_t q = 0; q < pixels; ++q) {
            index_t best = 0;
            for (index_t c = 1; c < classes; ++c) {
                const auto at = [&](index_t k) {
                    return logits[static_cast<std::size_t>((n * classes + k) * pixels + q)];
                };
                best = at(c) > at(best) ? c : best;
            }
            e.correct += best == labels[n * pixels + q] ? 1 : 0;
            ++e.rows;
        }
    }
}

} // namespace detail

} // namespace tessera
