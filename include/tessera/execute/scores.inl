// SPDX-License-Identifier: Apache-2.0
// Bodies of scores.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/scores.hpp"

namespace tessera::detail {

TESSERA_INLINE void score_sum::add(const evaluation& e, index_t samples) {
    losses_.resize(e.losses.size());
    for (std::size_t i = 0; i < e.losses.size(); ++i) {
        losses_[i].mean += e.losses[i].mean * e.losses[i].over;
        losses_[i].weight = e.losses[i].weight;
        losses_[i].over += e.losses[i].over;
    }
    all_.correct += e.correct;
    all_.rows += e.rows;
    all_.samples += samples;
}

TESSERA_INLINE scores score_sum::total() const {
    scores s = all_;
    for (const evaluated_loss& x : losses_) {
        s.loss += x.over > 0 || x.over < 0 ? x.weight * (x.mean / x.over) : 0;
    }
    s.accuracy = s.rows > 0 ? static_cast<double>(s.correct) / static_cast<double>(s.rows) : 0;
    return s;
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
