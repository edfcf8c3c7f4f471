// SPDX-License-Identifier: Apache-2.0
// Bodies of metrics.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/metrics.hpp"

namespace tessera::detail {

TESSERA_INLINE rows_of_logits::rows_of_logits(const prediction& logits)
    : rows_(whole(logits.extents)), values_(logits.values.data()) {
    if (logits.extents.rank < 2 || static_cast<index_t>(logits.values.size()) != logits.extents.volume()) {
        throw error("tessera: logits need samples and classes, and as many values as their extents say; there are " +
                    std::to_string(logits.values.size()) + " values of rank " + std::to_string(logits.extents.rank));
    }
}

TESSERA_INLINE float rows_of_logits::at(index_t row, index_t c) const {
    return values_[((row / rows_.plane) * rows_.classes + c) * rows_.plane + row % rows_.plane];
}

TESSERA_INLINE void rows_of_logits::check(std::span<const std::int32_t> labels) const {
    if (static_cast<index_t>(labels.size()) != count()) {
        throw error("tessera: " + std::to_string(labels.size()) + " labels for " + std::to_string(count()) +
                    " rows of logits; give one for each");
    }
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] < 0 || labels[i] >= classes()) {
            throw error("tessera: label " + std::to_string(labels[i]) + " of row " + std::to_string(i) +
                        " is not one of the " + std::to_string(classes()) + " classes");
        }
    }
}

TESSERA_INLINE bool comes_first(const ranked_class& a, const ranked_class& b) {
    if (is_nan(a.logit) || is_nan(b.logit)) {
        return is_nan(b.logit) && (!is_nan(a.logit) || a.number < b.number);
    }
    return a.logit > b.logit || (a.logit == b.logit && a.number < b.number);
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE std::vector<ranked_class> top_k(const prediction& logits, index_t k) {
    const detail::rows_of_logits rows(logits);
    if (k < 1 || k > rows.classes()) {
        throw error("tessera: the best " + std::to_string(k) + " of " + std::to_string(rows.classes()) +
                    " classes; ask for at least 1 and at most all");
    }
    std::vector<ranked_class> best;
    std::vector<ranked_class> row(to_size(rows.classes()));
    for (index_t r = 0; r < rows.count(); ++r) {
        for (index_t c = 0; c < rows.classes(); ++c) {
            row[to_size(c)] = {static_cast<std::int32_t>(c), rows.at(r, c)};
        }
        std::partial_sort(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(k), row.end(), detail::comes_first);
        best.insert(best.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(k));
    }
    return best;
}

TESSERA_INLINE void top_accuracy::add(const prediction& logits, std::span<const std::int32_t> labels) {
    detail::rows_of_logits(logits).check(labels);
    const std::vector<ranked_class> best = top_k(logits, k_);
    for (std::size_t r = 0; r < labels.size(); ++r) {
        for (std::size_t i = 0; i < to_size(k_); ++i) {
            correct_ += best[r * to_size(k_) + i].number == labels[r] ? 1 : 0;
        }
    }
    rows_ += static_cast<index_t>(labels.size());
}

TESSERA_INLINE confusion_matrix::confusion_matrix(index_t classes) : classes_(classes) {
    if (classes < 1) {
        throw error("tessera: a confusion matrix of " + std::to_string(classes) + " classes; it needs at least 1");
    }
    counts_.resize(to_size(classes * classes), 0);
}

TESSERA_INLINE void confusion_matrix::add(const prediction& logits, std::span<const std::int32_t> labels) {
    const detail::rows_of_logits rows(logits);
    if (rows.classes() != classes_) {
        throw error("tessera: logits of " + std::to_string(rows.classes()) + " classes in a confusion matrix of " +
                    std::to_string(classes_));
    }
    rows.check(labels);
    const std::vector<ranked_class> best = top_k(logits, 1);
    for (std::size_t r = 0; r < labels.size(); ++r) {
        ++counts_[to_size(labels[r] * classes_ + best[r].number)];
    }
}

TESSERA_INLINE index_t confusion_matrix::count(index_t truth, index_t taken) const {
    return counts_[to_size(truth * classes_ + taken)];
}

TESSERA_INLINE double confusion_matrix::accuracy() const {
    index_t right = 0;
    index_t all = 0;
    for (index_t a = 0; a < classes_; ++a) {
        right += count(a, a);
        for (index_t b = 0; b < classes_; ++b) {
            all += count(a, b);
        }
    }
    return all > 0 ? static_cast<double>(right) / static_cast<double>(all) : 0;
}

TESSERA_INLINE double confusion_matrix::intersection_over_union(index_t c) const {
    index_t either = -count(c, c);
    for (index_t k = 0; k < classes_; ++k) {
        either += count(c, k) + count(k, c);
    }
    return either > 0 ? static_cast<double>(count(c, c)) / static_cast<double>(either) : std::nan("");
}

TESSERA_INLINE double confusion_matrix::mean_intersection_over_union() const {
    double sum = 0;
    index_t there = 0;
    for (index_t c = 0; c < classes_; ++c) {
        const double own = intersection_over_union(c);
        sum += is_nan(own) ? 0 : own;
        there += is_nan(own) ? 0 : 1;
    }
    return there > 0 ? sum / static_cast<double>(there) : 0;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
