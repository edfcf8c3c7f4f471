// SPDX-License-Identifier: Apache-2.0
// How good predictions are, as values that add up over batches: the best classes of a row, accuracy among the best k,
// confusion matrices with mean intersection over union, perplexity.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/base/finite.hpp"
#include "tessera/execute/evaluation.hpp"
#include "tessera/execute/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace tessera {

/// A class and what its logit is.
struct ranked_class {
    std::int32_t number = 0;
    float logit = 0;

    friend constexpr bool operator==(const ranked_class&, const ranked_class&) = default;
};

namespace detail {

/// Rows of logits [N,C], [N,T,C] or [N,C,...]: row r's logit of class c.
class rows_of_logits {
public:
    explicit rows_of_logits(const prediction& logits);
    index_t count() const { return rows_.count(); }
    index_t classes() const { return rows_.classes; }
    float at(index_t row, index_t c) const;
    /// Throws unless there is a label for each row and all are classes.
    void check(std::span<const std::int32_t> labels) const;

private:
    logit_rows rows_;
    const float* values_;
};

/// Whether class `a` comes before `b`: its logit is larger, of equal ones its number less. NaN comes last.
bool comes_first(const ranked_class& a, const ranked_class& b);

} // namespace detail

/// The k classes with the largest logits of every row, the largest first; rows one after the other. A position of a
/// sequence and a pixel are rows. Throws tessera::error unless 1 <= k <= classes.
std::vector<ranked_class> top_k(const prediction& logits, index_t k);

/// How often the label is among the k classes with the largest logits.
class top_accuracy {
public:
    explicit top_accuracy(index_t k = 1) : k_(k) {}

    /// Throws tessera::error where logits and labels do not fit, and for k of more than the classes.
    void add(const prediction& logits, std::span<const std::int32_t> labels);
    index_t correct() const { return correct_; }
    index_t rows() const { return rows_; }
    double share() const { return rows_ > 0 ? static_cast<double>(correct_) / static_cast<double>(rows_) : 0; }

private:
    index_t k_;
    index_t correct_ = 0;
    index_t rows_ = 0;
};

/// How many rows of each class were taken for which class.
class confusion_matrix {
public:
    /// Throws tessera::error for no classes.
    explicit confusion_matrix(index_t classes);

    /// Counts each row's class with the largest logit. Throws tessera::error where logits and labels do not fit.
    void add(const prediction& logits, std::span<const std::int32_t> labels);

    index_t classes() const { return classes_; }
    /// Rows of class `truth` that were taken for `taken`.
    index_t count(index_t truth, index_t taken) const;
    /// The share of rows that were taken for what they are.
    double accuracy() const;
    /// Of the rows that are of a class or were taken for it, the share that is both (Jaccard's index); NaN where there
    /// are none.
    double intersection_over_union(index_t c) const;
    /// The mean over the classes that occur.
    double mean_intersection_over_union() const;

private:
    index_t classes_;
    std::vector<index_t> counts_;
};

/// Of a mean cross-entropy in nats, such as scores::loss.
inline double perplexity(double loss) { return std::exp(loss); }

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/metrics.inl"
#endif

#include "tessera/base/end_header.inl"
