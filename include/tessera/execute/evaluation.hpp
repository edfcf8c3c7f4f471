// SPDX-License-Identifier: Apache-2.0
// What an evaluation of a batch says.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/op/elementwise.hpp"
#include "tessera/op/records.hpp"

#include <limits>
#include <span>
#include <vector>

namespace tessera {

/// One of a network's losses in an evaluation.
struct evaluated_loss {
    double mean = 0;   ///< without the loss's weight among the network's losses
    double weight = 1; ///< that
    double over = 0;   ///< what the mean is over: samples, or what the rows weigh; so it counts among other batches
};

struct evaluation {
    double loss = 0;                    ///< as in training: the weighted sum of the losses' means
    index_t correct = 0;                ///< rows of the first loss of classes whose largest logit is the label's
    index_t rows = 0;                   ///< that count: those of an ignored label do not
    std::vector<evaluated_loss> losses; ///< in the network's order
};

/// The largest logit of a row, or of a part of it, and its class, of several the first.
struct row_leader {
    float logit = -std::numeric_limits<float>::infinity();
    std::int32_t number = std::numeric_limits<std::int32_t>::max();

    friend constexpr bool operator<(const row_leader& a, const row_leader& b) {
        return a.logit < b.logit || (a.logit == b.logit && b.number < a.number);
    }
};

/// Logits or a part of them as rows of classes: [samples, classes, plane]. A position of a sequence is a sample.
struct logit_rows {
    index_t samples = 0;
    index_t classes = 0;
    index_t plane = 0;
    index_t first_class = 0;

    constexpr explicit logit_rows(const box& x) {
        const int axis = op::channel_dimension(x.rank);
        samples = axis == 1 ? x.dim[0].size() : x.dim[0].size() * x.dim[1].size();
        classes = x.dim[axis].size();
        first_class = x.dim[axis].begin;
        plane = samples * classes > 0 ? x.volume() / (samples * classes) : 0;
    }
    constexpr index_t count() const { return samples * plane; }
};

namespace detail {

/// The leaders of all rows of logits.
std::vector<row_leader> leaders_of(const logit_rows& r, std::span<const float> logits);

/// Takes the leaders of the rows of a part of the logits `all` into account.
void merge_leaders(const box& all, const box& part, std::span<const row_leader> found, std::span<row_leader> leaders);

/// Counts rows whose leader is the label's, but for those of a label that the loss `a` ignores.
void count_correct(const op_attributes& a, std::span<const row_leader> leaders, const std::int32_t* labels,
                   evaluation& e);

} // namespace detail

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/evaluation.inl"
#endif

#include "tessera/base/end_header.inl"
