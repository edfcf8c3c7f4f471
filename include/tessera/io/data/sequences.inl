// SPDX-License-Identifier: Apache-2.0
// Bodies of sequences.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/data/sequences.hpp"

namespace tessera::io {

TESSERA_INLINE sequence_set::sequence_set(std::vector<std::vector<std::int32_t>> tokens,
                                          std::vector<std::vector<std::int32_t>> labels)
    : all_{std::make_shared<const contents>(contents{std::move(tokens), std::move(labels)})} {
    if (all_->tokens.empty()) throw error("a set of no sequences has no batches; give at least one");
    if (all_->tokens.size() != all_->labels.size())
        throw error(std::to_string(all_->tokens.size()) + " sequences have labels for " +
                    std::to_string(all_->labels.size()) + "; give each its own");
    for (std::size_t i = 0; i < all_->tokens.size(); ++i) {
        if (all_->tokens[i].empty() || all_->tokens[i].size() != all_->labels[i].size())
            throw error("sequence " + std::to_string(i) + " has " + std::to_string(all_->tokens[i].size()) +
                        " tokens and " + std::to_string(all_->labels[i].size()) +
                        " labels; give at least one token, and a label for each");
        longest_ = std::max(longest_, static_cast<std::int64_t>(all_->tokens[i].size()));
    }
}

TESSERA_INLINE sequence_set sequence_set::of_next_tokens(const std::vector<std::vector<std::int32_t>>& texts) {
    std::vector<std::vector<std::int32_t>> tokens, labels;
    for (const auto& t : texts) {
        if (t.size() < 2)
            throw error("sequence " + std::to_string(tokens.size()) + " has " + std::to_string(t.size()) +
                        " tokens, so that none comes next; leave it out");
        tokens.emplace_back(t.begin(), t.end() - 1);
        labels.emplace_back(t.begin() + 1, t.end());
    }
    return {std::move(tokens), std::move(labels)};
}

TESSERA_INLINE sequence_set::range::iterator& sequence_set::range::iterator::operator++() {
    range_->next();
    return *this;
}

TESSERA_INLINE sequence_set::range::range(std::shared_ptr<const contents> all, std::int64_t longest,
                                          std::int64_t batch_size, std::vector<std::int64_t> buckets,
                                          const batch_options& options, padding with)
    : all_{std::move(all)}, batch_size_{batch_size}, buckets_{std::move(buckets)}, options_{options}, with_{with} {
    const auto count = static_cast<std::int64_t>(all_->tokens.size());
    if (batch_size < 1)
        throw error("a batch of " + std::to_string(batch_size) + " samples was asked for; a batch has at least 1");
    if (buckets_.empty() || buckets_.front() < 1 ||
        std::adjacent_find(buckets_.begin(), buckets_.end(), std::greater_equal<>()) != buckets_.end())
        throw error("buckets are lengths that rise, the first at least 1: {64, 128, 256}");
    if (buckets_.back() < longest)
        throw error("a sequence of " + std::to_string(longest) + " tokens fits in no bucket, the longest being " +
                    std::to_string(buckets_.back()) + "; add a bucket, or cut the sequence");
    if (options.first_sample != 0)
        throw error("batches of buckets begin at the start of an epoch, not at sample " +
                    std::to_string(options.first_sample));
    if (options.shuffle_seed) order_.emplace(count, *options.shuffle_seed, options.epoch);
}

TESSERA_INLINE sequence_set::range::iterator sequence_set::range::begin() {
    position_ = 0;
    waiting_.assign(buckets_.size(), {});
    next();
    return iterator(*this);
}

TESSERA_INLINE void sequence_set::range::next() {
    const auto count = static_cast<std::int64_t>(all_->tokens.size());
    while (position_ < count) {
        const auto sample = to_size(order_ ? (*order_)(position_) : position_);
        ++position_;
        const auto length = static_cast<std::int64_t>(all_->tokens[sample].size());
        const auto bucket = to_size(std::lower_bound(buckets_.begin(), buckets_.end(), length) - buckets_.begin());
        waiting_[bucket].push_back(sample);
        if (static_cast<std::int64_t>(waiting_[bucket].size()) == batch_size_) return fill(bucket);
    }
    for (std::size_t b = 0; b < buckets_.size() && !options_.drop_last; ++b) {
        if (!waiting_[b].empty()) return fill(b);
    }
    current_ = {};
}

TESSERA_INLINE void sequence_set::range::fill(std::size_t bucket) {
    const auto length = to_size(buckets_[bucket]);
    std::vector<std::size_t>& samples = waiting_[bucket];
    inputs_.assign(samples.size() * length, with_.token);
    labels_.assign(samples.size() * length, with_.label);
    lengths_.clear();
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto at = static_cast<std::ptrdiff_t>(i * length);
        const auto& tokens = all_->tokens[samples[i]];
        std::copy(tokens.begin(), tokens.end(), inputs_.begin() + at);
        std::copy(all_->labels[samples[i]].begin(), all_->labels[samples[i]].end(), labels_.begin() + at);
        lengths_.push_back(static_cast<std::int32_t>(tokens.size()));
    }
    current_ = {inputs_, labels_, lengths_, static_cast<std::int64_t>(samples.size()), buckets_[bucket]};
    samples.clear();
}

TESSERA_INLINE sequence_set::range sequence_set::batches(std::int64_t batch_size, std::vector<std::int64_t> buckets,
                                                         const batch_options& options, padding with) const {
    return {all_, longest_, batch_size, std::move(buckets), options, with};
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
