// SPDX-License-Identifier: Apache-2.0
// Sequences of several lengths in batches of few: each is padded at its end to the length of its bucket, so that a
// network of any length (tokens<up_to<L>>) makes one plan for each bucket.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/io/data/shuffle.hpp"

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

/// A batch of sequences of one bucket: inputs and labels [size, length], the true lengths [size]. Valid until the range
/// goes on to the next one.
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
    sequence_set(std::vector<std::vector<std::int32_t>> tokens, std::vector<std::vector<std::int32_t>> labels);

    /// Each token's label is the token that comes next: a sequence of n tokens is a sample of n - 1. Throws
    /// tessera::error for fewer than two.
    static sequence_set of_next_tokens(const std::vector<std::vector<std::int32_t>>& texts);

    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(all_->tokens.size()); }
    [[nodiscard]] std::int64_t longest() const { return longest_; }

    /// Batches of `batch_size` samples, or fewer at the end of an epoch, of one bucket each. A sample goes to the first
    /// bucket that is long enough, in the order of the epoch; a bucket that is full is a batch, and at the end come
    /// those that are not, the shortest first. `buckets` are lengths, the last at least that of the longest sequence.
    /// Throws tessera::error where they are not, or a batch has no sample.
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
        iterator& operator++();
        void operator++(int) { ++*this; }
        bool operator==(std::default_sentinel_t) const { return range_->current_.size == 0; }

    private:
        range* range_ = nullptr;
    };

    range(std::shared_ptr<const contents> all, std::int64_t longest, std::int64_t batch_size,
          std::vector<std::int64_t> buckets, const batch_options& options, padding with);

    iterator begin();
    static std::default_sentinel_t end() { return {}; }

private:
    friend class iterator;

    void next();
    void fill(std::size_t bucket);

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

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/data/sequences.inl"
#endif

#include "tessera/base/end_header.inl"
