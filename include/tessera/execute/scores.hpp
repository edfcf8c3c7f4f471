// SPDX-License-Identifier: Apache-2.0
// What an evaluation of any number of batches finds.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/evaluation.hpp"

#include <vector>

namespace tessera {

/// What an evaluation over any number of batches found.
struct scores {
    double loss = 0;     ///< mean over all samples, or over what all rows weigh, as in training of one batch
    double accuracy = 0; ///< share of the rows that count of the first loss whose largest logit is the label's
    index_t correct = 0;
    index_t rows = 0; ///< labels: one for each sample, or for each pixel, but for those that a loss ignores
    index_t samples = 0;
};

namespace detail {

/// Adds up the evaluations of batches, each by what its means are over.
class score_sum {
public:
    /// An evaluation of so many samples.
    void add(const evaluation& e, index_t samples);
    bool is_empty() const { return all_.samples == 0; }
    scores total() const;

private:
    scores all_;
    std::vector<evaluated_loss> losses_; ///< sums of means times what they are over
};

} // namespace detail

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/scores.inl"
#endif

#include "tessera/base/end_header.inl"
