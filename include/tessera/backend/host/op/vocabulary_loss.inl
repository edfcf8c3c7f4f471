// SPDX-License-Identifier: Apache-2.0
// Bodies of vocabulary_loss.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/kernels/row_loss.hpp"
#include "tessera/backend/host/op/vocabulary_loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::host::detail {

TESSERA_INLINE vocabulary_sizes::vocabulary_sizes(const compute_call& c) {
    const description& d = *c.d;
    const shape x = region(d, d.find_operand(operand_kind::input, 0), c.ranges).extents();
    features = x[x.rank - 1];
    rows = x.volume() / features;
    words = c.ranges[d.find_loop(loop_name::channel)].size();
    block_rows = std::min<index_t>(rows, 512); // 1 MB: in the cache of a core
    block_words = std::min<index_t>(words, 512);
}

} // namespace tessera::host::detail

namespace tessera::host {

TESSERA_INLINE vocabulary_loss_job::vocabulary_loss_job(const bound_call& b)
    : b_(b), sizes_(b.call), a_(b.call.attributes.as<op::masked_vocabulary_loss_attributes>()),
      masked_(record_of(b.call.attributes).ignored != nullptr), samples_(b.call.ranges[0]) {
    const description& d = *b.call.d;
    const int positions = d.find_loop(loop_name::position);
    positions_ = positions >= 0 ? b.call.ranges[positions] : interval{0, 1};
    words_ = b.call.ranges[d.find_loop(loop_name::channel)];
    input_ = d.find_operand(operand_kind::input, 0);
    labels_ = d.find_operand(operand_kind::input, 1);
    weights_ = d.find_operand(operand_kind::parameter, 0);
    largest_ = d.find_operand(operand_kind::intermediate, 0);
    total_ = d.find_operand(operand_kind::intermediate, 1);
    counted_ = d.find_operand(operand_kind::intermediate, 2);
}

TESSERA_INLINE index_t vocabulary_loss_job::place_of(const box& region, const some_rows& r, index_t each) const {
    const bool of_sequences = b_.call.d->find_loop(loop_name::position) >= 0;
    const index_t sample = r.sample - region.dim[0].begin;
    return each * (of_sequences ? sample * region.dim[1].size() + r.first - region.dim[1].begin : sample);
}

TESSERA_INLINE float* vocabulary_loss_job::numbers(int o, const some_rows& r) const {
    const tile_view& v = b_.call.value[o];
    return detail::floats(v.data) + place_of(v.region, r, 1);
}

TESSERA_INLINE const std::int32_t* vocabulary_loss_job::labels(const some_rows& r) const {
    const tile_view& v = b_.call.value[labels_];
    return static_cast<const std::int32_t*>(v.data) + place_of(v.region, r, 1);
}

TESSERA_INLINE detail::matrix_view vocabulary_loss_job::rows_of(int o, bool gradient, const some_rows& r) const {
    const tile_view& v = gradient ? b_.call.gradient[o] : b_.call.value[o];
    return {detail::floats(v.data) + place_of(v.region, r, sizes_.features), r.count, sizes_.features, sizes_.features,
            1};
}

TESSERA_INLINE detail::matrix_view vocabulary_loss_job::words_of(bool gradient, index_t first, index_t count) const {
    const tile_view& v = gradient ? b_.call.gradient[weights_] : b_.call.value[weights_];
    return {detail::floats(v.data) + (first - v.region.dim[0].begin) * sizes_.features, count, sizes_.features,
            sizes_.features, 1};
}

TESSERA_INLINE detail::matrix_view vocabulary_loss_job::block(index_t rows, index_t words) const {
    return {detail::floats(b_.scratch), rows, words, words, 1};
}

/// Rows of several samples are one after the other where every tile has the shard's positions alone.
TESSERA_INLINE std::vector<vocabulary_loss_job::some_rows> vocabulary_loss_job::blocks() const {
    const compute_call& c = b_.call;
    bool dense = true;
    for (int o = 0; o < c.d->operands.size(); ++o) {
        for (const tile_view* v : {&c.value[o], &c.gradient[o]}) {
            const bool of_rows = v->data != nullptr && o != weights_ && o != counted_ && v->region.rank > 1;
            dense = dense && (!of_rows || c.d->find_loop(loop_name::position) < 0 || v->region.dim[1] == positions_);
        }
    }
    std::vector<some_rows> all;
    const index_t together = dense ? samples_.size() : 1;
    for (index_t n = samples_.begin; n < samples_.end; n += together) {
        const index_t count = together * positions_.size();
        for (index_t r = 0; r < count; r += sizes_.block_rows) {
            all.push_back({n + r / positions_.size(), positions_.begin + r % positions_.size(),
                           std::min(sizes_.block_rows, count - r)});
        }
    }
    return all;
}

/// Of a row in the mean over those that count.
TESSERA_INLINE double vocabulary_loss_job::weight_of(index_t label) const {
    if (!masked_) {
        return 1;
    }
    const double all = static_cast<double>(*detail::floats(b_.call.value[counted_].data));
    const auto rows = static_cast<double>(b_.call.d->operands[b_.call.d->output()].extents.volume());
    return label == a_.ignored || all == 0 ? 0 : rows / all;
}

TESSERA_INLINE void vocabulary_loss_job::run(const run_state&) {
    if (!is_forward(b_.call.what)) {
        return backward();
    }
    if (masked_ && does(2)) {
        count();
    }
    for (const some_rows& r : blocks()) {
        forward(r);
    }
}

TESSERA_INLINE void vocabulary_loss_job::count() const {
    index_t rows = 0;
    for (const some_rows& r : blocks()) {
        for (index_t i = 0; i < r.count; ++i) {
            const index_t label = labels(r)[i];
            rows += label != a_.ignored && label >= words_.begin && label < words_.end ? 1 : 0;
        }
    }
    *detail::floats(b_.call.value[counted_].data) = static_cast<float>(rows);
}

TESSERA_INLINE void vocabulary_loss_job::forward(const some_rows& r) const {
    const bool loses = does(nests() - 1);
    const bool takes_all = loses && a_.smoothing > 0;
    if (does(0)) {
        std::fill_n(numbers(largest_, r), r.count, -std::numeric_limits<float>::infinity());
    }
    if (does(1)) {
        std::fill_n(numbers(total_, r), r.count, 0.0F);
    }
    float* const together = detail::floats(b_.scratch) + sizes_.block(); // sums of logits
    std::fill_n(together, r.count, 0.0F);
    const index_t each = sizes_.block_words;
    for (index_t k = words_.begin; k < words_.end && (does(0) || does(1) || takes_all); k += each) {
        const index_t count = std::min(each, words_.end - k);
        const detail::matrix_view logits = block(r.count, count);
        detail::multiply_matrices(rows_of(input_, false, r), words_of(false, k, count).transposed(), logits, 1);
        take_logits(r, logits);
    }
    if (loses) {
        lose(r);
    }
}

/// What a block of logits adds to each row's maximum and sum: where both are made, the sum is that of exponentials less
/// the maximum so far.
TESSERA_INLINE void vocabulary_loss_job::take_logits(const some_rows& r, const detail::matrix_view& logits) const {
    const auto count = static_cast<std::ptrdiff_t>(logits.columns);
    float* const top = does(0) || does(1) ? numbers(largest_, r) : nullptr;
    float* const total = does(1) ? numbers(total_, r) : nullptr;
    float* const together = detail::floats(b_.scratch) + sizes_.block();
    for (index_t i = 0; i < r.count; ++i) {
        const float* const x = logits.data + i * logits.row_stride;
        if (does(0)) {
            const float most = kernels::row_maximum(x, count);
            if (!(most <= top[i])) { // or is no number
                if (does(1)) {
                    total[i] *= total[i] > 0 ? std::exp(top[i] - most) : 0.0F;
                }
                top[i] = most;
            }
        }
        if (does(1)) {
            total[i] += kernels::row_exponentials(x, nullptr, count, top[i]);
        }
        if (does(nests() - 1) && a_.smoothing > 0) {
            float sum = 0;
            for (std::ptrdiff_t k = 0; k < count; ++k) {
                sum += x[k];
            }
            together[i] += sum;
        }
    }
}

TESSERA_INLINE void vocabulary_loss_job::lose(const some_rows& r) const {
    const auto features = static_cast<std::ptrdiff_t>(sizes_.features);
    const float* const x = rows_of(input_, false, r).data;
    const float* const together = detail::floats(b_.scratch) + sizes_.block();
    float* const loss = numbers(b_.call.d->output(), r);
    for (index_t i = 0; i < r.count; ++i) {
        const index_t label = labels(r)[i];
        const double top = static_cast<double>(numbers(largest_, r)[i]);
        const double log_sum = std::log(static_cast<double>(numbers(total_, r)[i]));
        const double weight = weight_of(label);
        double sum = 0;
        if (weight != 0 && label >= words_.begin && label < words_.end) { // another shard has the label's word
            const float logit = kernels::row_product(x + i * features, words_of(false, label, 1).data, features);
            sum += (a_.target(true) - a_.target(false)) * (log_sum + (top - static_cast<double>(logit)));
        }
        if (weight != 0 && a_.smoothing > 0) {
            sum += a_.target(false) *
                   (static_cast<double>(words_.size()) * (log_sum + top) - static_cast<double>(together[i]));
        }
        loss[i] = static_cast<float>(weight * sum);
    }
}

/// Words outside, rows inside: a block of the weights' gradient stays in the cache.
TESSERA_INLINE void vocabulary_loss_job::backward() const {
    const bool to_input = has(b_.call.emits, input_);
    const bool to_weights = has(b_.call.emits, weights_);
    const std::vector<some_rows> all = blocks();
    for (index_t k = words_.begin; k < words_.end; k += sizes_.block_words) {
        const index_t count = std::min(sizes_.block_words, words_.end - k);
        const detail::matrix_view weights = words_of(false, k, count);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const detail::matrix_view x = rows_of(input_, false, all[i]);
            const detail::matrix_view slopes = block(all[i].count, count);
            detail::multiply_matrices(x, weights.transposed(), slopes, 1);
            make_slopes(all[i], slopes, k);
            if (to_input) {
                detail::multiply_matrices(slopes, weights, rows_of(input_, true, all[i]), 1,
                                          k == words_.begin ? 0.0F : 1.0F);
            }
            if (to_weights) {
                detail::multiply_matrices(slopes.transposed(), x, words_of(true, k, count), 1, i == 0 ? 0.0F : 1.0F);
            }
        }
    }
}

/// Logits become their gradients.
TESSERA_INLINE void vocabulary_loss_job::make_slopes(const some_rows& r, const detail::matrix_view& logits,
                                                     index_t first_word) const {
    const auto count = static_cast<std::ptrdiff_t>(logits.columns);
    for (index_t i = 0; i < r.count; ++i) {
        float* const x = logits.data + i * logits.row_stride;
        const index_t label = labels(r)[i];
        const double scale = b_.call.loss_scale * weight_of(label);
        if (scale == 0) {
            std::fill_n(x, logits.columns, 0.0F);
            continue;
        }
        kernels::row_softmax(x, x, count, numbers(largest_, r)[i],
                             static_cast<float>(scale / static_cast<double>(numbers(total_, r)[i])));
        const auto others = static_cast<float>(scale * a_.target(false));
        for (std::ptrdiff_t k = 0; k < count && others != 0; ++k) {
            x[k] -= others;
        }
        if (label >= first_word && label < first_word + count) {
            x[label - first_word] -= static_cast<float>(scale * (a_.target(true) - a_.target(false)));
        }
    }
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
