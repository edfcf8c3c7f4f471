// SPDX-License-Identifier: Apache-2.0
// Sequences of several lengths in batches of few: each is padded at its end to the length of its bucket, so that a network of any length
// (tokens<up_to<L>>) makes one plan for each bucket.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/io/shuffle.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::io {

/// A batch of sequences of one bucket: inputs and labels [size, length], the true lengths [size]. Valid until the range goes on to the next one.
struct padded_batch {
    std::span<const std::int32_t> inputs;
    std::span<const std::int32_t> labels;
    std::span<const std::int32_t> lengths; ///< of each sample, for what hides padding: feed<lengths>(batch.lengths)
    std::int64_t size = 0;
    std::int64_t length = 0; ///< of the bucket
};

/// What stands behind the end of a sequence.
struct padding {
    std::int32_t token = 0;
    std::int32_t label = -100; ///< one that a loss with an ignored label does not count
};

/// Tokens of sequences with a label for each token.
class sequence_set {
public:
    class range;

    /// Throws tessera::error where there is no sequence, one is empty, or its labels are not as many as its tokens.
    sequence_set(std::vector<std::vector<std::int32_t>> tokens, std::vector<std::vector<std::int32_t>> labels)
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

    /// Each token's label is the token that comes next: a sequence of n tokens is a sample of n - 1. Throws tessera::error for fewer than two.
    static sequence_set of_next_tokens(const std::vector<std::vector<std::int32_t>>& texts) {
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

    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(all_->tokens.size()); }
    [[nodiscard]] std::int64_t longest() const { return longest_; }

    /// Batches of `batch_size` samples, or fewer at the end of an epoch, of one bucket each. A sample goes to the first bucket that is long enough, in the order of
    /// the epoch; a bucket that is full is a batch, and at the end come those that are not, the shortest first. `buckets` are lengths, the last
    /// at least that of the longest sequence. Throws tessera::error where they are not, or a batch has no sample.
    [[nodiscard]] range batches(std::int64_t batch_size, std::vector<std::int64_t> buckets,
                                const batch_options& options = {}, padding with = {}) const;

private:
    struct contents {
        std::vector<std::vector<std::int32_t>> tokens, labels;
    };
    std::shared_ptr<const contents> all_;
    std::int64_t longest_ = 0;
};

/// To be gone through in one loop at a time; a new loop starts over.
class sequence_set::range {
public:
    class iterator {
    public:
        using value_type = padded_batch;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        iterator() = default;
        explicit iterator(range& of) : range_{&of} {}
        const padded_batch& operator*() const { return range_->current_; }
        iterator& operator++() {
            range_->next();
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(std::default_sentinel_t) const { return range_->current_.size == 0; }

    private:
        range* range_ = nullptr;
    };

    range(std::shared_ptr<const contents> all, std::int64_t longest, std::int64_t batch_size,
          std::vector<std::int64_t> buckets, const batch_options& options, padding with)
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

    iterator begin() {
        position_ = 0;
        waiting_.assign(buckets_.size(), {});
        next();
        return iterator(*this);
    }
    static std::default_sentinel_t end() { return {}; }

private:
    friend class iterator;

    void next() {
        const auto count = static_cast<std::int64_t>(all_->tokens.size());
        while (position_ < count) {
            const auto sample = static_cast<std::size_t>(order_ ? (*order_)(position_) : position_);
            ++position_;
            const auto length = static_cast<std::int64_t>(all_->tokens[sample].size());
            const auto bucket =
                static_cast<std::size_t>(std::lower_bound(buckets_.begin(), buckets_.end(), length) - buckets_.begin());
            waiting_[bucket].push_back(sample);
            if (static_cast<std::int64_t>(waiting_[bucket].size()) == batch_size_) return fill(bucket);
        }
        for (std::size_t b = 0; b < buckets_.size() && !options_.drop_last; ++b) {
            if (!waiting_[b].empty()) return fill(b);
        }
        current_ = {};
    }
    void fill(std::size_t bucket) {
        const auto length = static_cast<std::size_t>(buckets_[bucket]);
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

    std::shared_ptr<const contents> all_;
    std::int64_t batch_size_ = 0;
    std::vector<std::int64_t> buckets_;
    batch_options options_;
    padding with_;
    std::optional<epoch_order> order_;
    std::int64_t position_ = 0;
    std::vector<std::vector<std::size_t>> waiting_; ///< samples, by bucket
    std::vector<std::int32_t> inputs_, labels_, lengths_;
    padded_batch current_;
};

inline sequence_set::range sequence_set::batches(std::int64_t batch_size, std::vector<std::int64_t> buckets,
                                                 const batch_options& options, padding with) const {
    return {all_, longest_, batch_size, std::move(buckets), options, with};
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
