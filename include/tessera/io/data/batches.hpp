// SPDX-License-Identifier: Apache-2.0
// Goes through a set of samples in batches, in the order of the set or shuffled in the same way on every machine.
//
// Data of your own: anything that a range-for loop accepts and whose elements have the members of `batch` below trains
// as well.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/io/data/shuffle.hpp"

#include <algorithm>
#include <compare>
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

/// Samples one after the other, the sample being the slowest dimension of both. A batch that a range yields is valid
/// until the range goes on to the next one. Inputs are numbers (batch, sample_set) or integers (token_batch,
/// token_set).
template <class Element>
struct basic_batch {
    std::span<const Element> inputs;
    std::span<const std::int32_t> labels;
    std::int64_t size = 0; ///< the number of samples
};
using batch = basic_batch<float>;
using token_batch = basic_batch<std::int32_t>;

/// The batches of a set, as an input range: to be gone through in one loop at a time; a new loop starts over. A copy is
/// a loop of its own over the same samples and copies at most one batch, so that it is a view, which views of range-v3
/// take (tessera/io/data/range_v3.hpp). By itself it has no batches.
template <class Element>
class basic_batch_range {
public:
    using batch = basic_batch<Element>;

    class iterator {
    public:
        using value_type = batch;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        iterator() = default;
        explicit iterator(basic_batch_range& range) : range_{&range} {}

        const batch& operator*() const { return range_->now_.current; }
        iterator& operator++() {
            range_->stage(range_->now_.position + range_->now_.current.size);
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(std::default_sentinel_t) const { return range_->now_.current.size == 0; }

    private:
        basic_batch_range* range_ = nullptr;
    };

    basic_batch_range() = default;
    /// Batches of `batch_size` samples of a set given as one batch, which must outlive the range. Throws tessera::error
    /// where the sizes do not fit together.
    basic_batch_range(const batch& set, std::int64_t batch_size, const batch_options& options = {})
        : set_{set}, batch_size_{batch_size}, options_{options} {
        const auto samples = to_size(set.size);
        if (batch_size < 1)
            throw error("a batch of " + std::to_string(batch_size) + " samples was asked for; a batch has at least 1");
        if (set.size < 1)
            throw error("a set of " + std::to_string(set.size) + " samples has no batches; give at least 1 sample");
        refuse_uneven(set.inputs.size(), samples, "input elements");
        refuse_uneven(set.labels.size(), samples, "labels");
        if (options.first_sample < 0 || options.first_sample > set.size)
            throw error("a set of " + std::to_string(set.size) + " samples is not gone through from sample " +
                        std::to_string(options.first_sample) + " on; begin between 0 and its size");
        if (options.drop_last && batch_size > set.size)
            throw error("a set of " + std::to_string(set.size) + " samples has no full batch of " +
                        std::to_string(batch_size) + "; use smaller batches or keep the last, short one");
        inputs_stride_ = inputs_per_sample_ = set.inputs.size() / samples;
        labels_stride_ = labels_per_sample_ = set.labels.size() / samples;
        if (options.shuffle_seed) order_.emplace(set.size, *options.shuffle_seed, options.epoch);
    }

    /// The same, of a set that the range keeps alive itself.
    basic_batch_range(std::vector<Element> inputs, std::vector<std::int32_t> labels, std::int64_t samples,
                      std::int64_t batch_size, const batch_options& options = {})
        : basic_batch_range(batch{inputs, labels, samples}, batch_size, options) {
        // A vector that is moved keeps its elements where they are, so the spans hold.
        kept_ = std::make_shared<const kept>(kept{std::move(inputs), std::move(labels)});
    }

    /// Samples that overlap: `samples` windows of `each` elements and as many labels, a window beginning `stride` after
    /// the one before. Both must outlive the range.
    static basic_batch_range windows(std::span<const Element> elements, std::span<const std::int32_t> labels,
                                     std::int64_t samples, std::size_t each, std::size_t stride,
                                     std::int64_t batch_size, const batch_options& options = {}) {
        const std::size_t needed = samples < 1 ? 0 : to_size(samples - 1) * stride + each;
        if (needed == 0 || elements.size() < needed || labels.size() < needed)
            throw error(std::to_string(samples) + " windows of " + std::to_string(each) + ", " +
                        std::to_string(stride) + " apart, do not lie in " + std::to_string(elements.size()) +
                        " elements and " + std::to_string(labels.size()) + " labels; take fewer");
        const auto count = to_size(samples);
        basic_batch_range range({elements.first(count), labels.first(count), samples}, batch_size, options);
        range.set_ = {elements.first(needed), labels.first(needed), samples};
        range.inputs_per_sample_ = range.labels_per_sample_ = each;
        range.inputs_stride_ = range.labels_stride_ = stride;
        return range;
    }

    /// The same batches, each sample's inputs changed on their way: change(number of the sample in the set, inputs,
    /// where to write as many). To be the same in every run, whatever the batch, it must be a function of these alone.
    using sample_change = std::function<void(std::int64_t, std::span<const Element>, std::span<Element>)>;
    [[nodiscard]] basic_batch_range changed(sample_change change) const {
        basic_batch_range range = *this;
        range.change_ = std::move(change);
        return range;
    }

    iterator begin() {
        stage(options_.first_sample);
        return iterator{*this};
    }
    [[nodiscard]] std::default_sentinel_t end() const { return {}; }

    /// How many batches a loop sees.
    [[nodiscard]] std::int64_t count() const {
        const std::int64_t samples = end_position() - options_.first_sample;
        return samples / batch_size_ + (samples % batch_size_ != 0 ? 1 : 0);
    }

    /// Where a training goes on (see resume()) after the batch that its loop is at; before a loop, where it begins.
    [[nodiscard]] data_position next_position() const {
        const std::int64_t next = std::max(now_.position + now_.current.size, options_.first_sample);
        return {options_.shuffle_seed, options_.epoch, next, set_.size, options_.set_hash};
    }

private:
    static void refuse_uneven(std::size_t elements, std::size_t samples, const char* what) {
        if (elements == 0 || elements % samples != 0)
            throw error("a set has " + std::to_string(elements) + " " + what + " for " + std::to_string(samples) +
                        " samples; each sample needs the same number, at least 1");
    }

    /// The samples that are gone through.
    [[nodiscard]] std::int64_t end_position() const {
        const std::int64_t left = set_.size - options_.first_sample;
        return options_.drop_last ? set_.size - left % batch_size_ : set_.size;
    }

    void stage(std::int64_t position) {
        now_.position = position;
        const auto first = to_size(position);
        const auto size = to_size(std::min(batch_size_, end_position() - position));
        if (size == 0) {
            now_.current = {};
            return;
        }
        if (!order_ && !change_ && inputs_stride_ == inputs_per_sample_) {
            now_.current = {set_.inputs.subspan(first * inputs_per_sample_, size * inputs_per_sample_),
                            set_.labels.subspan(first * labels_per_sample_, size * labels_per_sample_),
                            static_cast<std::int64_t>(size)};
            return;
        }
        now_.inputs.resize(std::max(now_.inputs.size(), size * inputs_per_sample_)); // the first batch is the largest
        now_.labels.resize(std::max(now_.labels.size(), size * labels_per_sample_));
        for (std::size_t i = 0; i < size; ++i) {
            const std::int64_t at = position + static_cast<std::int64_t>(i);
            const std::int64_t number = order_ ? (*order_)(at) : at;
            const auto sample = to_size(number);
            const auto from = set_.inputs.subspan(sample * inputs_stride_, inputs_per_sample_);
            const auto to = std::span<Element>{now_.inputs}.subspan(i * inputs_per_sample_, inputs_per_sample_);
            if (change_) {
                change_(number, from, to);
            } else {
                std::copy(from.begin(), from.end(), to.begin());
            }
            std::copy_n(set_.labels.data() + sample * labels_stride_, labels_per_sample_,
                        now_.labels.data() + i * labels_per_sample_);
        }
        now_.current = {std::span<const Element>{now_.inputs}.first(size * inputs_per_sample_),
                        std::span<const std::int32_t>{now_.labels}.first(size * labels_per_sample_),
                        static_cast<std::int64_t>(size)};
    }

    struct kept {
        std::vector<Element> inputs;
        std::vector<std::int32_t> labels;
    };
    /// Where a loop is: a copy of the range has its own, which begin() sets.
    struct loop {
        std::vector<Element> inputs; ///< of a shuffled batch
        std::vector<std::int32_t> labels;
        std::int64_t position = 0;
        batch current;
    };

    std::shared_ptr<const kept> kept_;
    batch set_;
    std::int64_t batch_size_ = 1;
    batch_options options_;
    std::size_t inputs_per_sample_ = 0;
    std::size_t labels_per_sample_ = 0;
    std::size_t inputs_stride_ = 0; // from one sample's first element to the next one's
    std::size_t labels_stride_ = 0;
    sample_change change_;
    std::optional<epoch_order> order_;
    loop now_;
};

using batch_range = basic_batch_range<float>;
using token_range = basic_batch_range<std::int32_t>;

/// Samples that are their own owner, to be gone through in batches; or one by one, each a batch of one sample: a set is
/// a random access range.
template <class Element>
class basic_sample_set {
public:
    using batch = basic_batch<Element>;
    using batch_range = basic_batch_range<Element>;

    class iterator {
    public:
        using value_type = batch;
        using reference = batch;
        using pointer = void;
        using difference_type = std::ptrdiff_t;
        using iterator_category = std::random_access_iterator_tag;

        iterator() = default;
        iterator(const basic_sample_set& set, std::int64_t at) : set_{&set}, at_{at} {}

        batch operator*() const { return set_->sample(at_); }
        batch operator[](difference_type n) const { return set_->sample(at_ + n); }
        iterator& operator++() { return *this += 1; }
        iterator& operator--() { return *this += -1; }
        iterator operator++(int) { return *this += 1, *this - 1; }
        iterator operator--(int) { return *this += -1, *this + 1; }
        iterator& operator+=(difference_type n) {
            at_ += n;
            return *this;
        }
        iterator& operator-=(difference_type n) { return *this += -n; }
        friend iterator operator+(iterator i, difference_type n) { return i += n; }
        friend iterator operator+(difference_type n, iterator i) { return i += n; }
        friend iterator operator-(iterator i, difference_type n) { return i -= n; }
        friend difference_type operator-(const iterator& a, const iterator& b) { return a.at_ - b.at_; }
        friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }
        friend std::strong_ordering operator<=>(const iterator& a, const iterator& b) { return a.at_ <=> b.at_; }

    private:
        const basic_sample_set* set_ = nullptr;
        std::int64_t at_ = 0;
    };

    /// One label per sample. Throws tessera::error where the inputs cannot be as many for each, or where there are
    /// none.
    basic_sample_set(std::vector<Element> inputs, std::vector<std::int32_t> labels)
        : inputs_{std::move(inputs)}, labels_{std::move(labels)}, size_{static_cast<std::int64_t>(labels_.size())} {
        static_cast<void>(batch_range{all(), 1});
    }
    /// The same number of labels, such as one per pixel or position, for each of `size` samples.
    basic_sample_set(std::vector<Element> inputs, std::vector<std::int32_t> labels, std::int64_t size)
        : inputs_{std::move(inputs)}, labels_{std::move(labels)}, size_{size} {
        static_cast<void>(batch_range{all(), 1});
    }

    [[nodiscard]] std::int64_t size() const { return size_; }
    /// Of the contents: another set has another, as good as always. Goes through all of them (2 GB/s).
    [[nodiscard]] std::uint64_t hash() const {
        return hash_of_elements<std::int32_t>(labels_, hash_of_elements<Element>(inputs_));
    }
    [[nodiscard]] std::span<const Element> inputs() const { return inputs_; }
    [[nodiscard]] std::span<const std::int32_t> labels() const { return labels_; }
    [[nodiscard]] batch all() const { return {inputs_, labels_, size_}; }
    /// One sample; the index must be below size().
    [[nodiscard]] batch sample(std::int64_t index) const {
        const std::size_t each = inputs_.size() / to_size(size_);
        const std::size_t labels_each = labels_.size() / to_size(size_);
        const auto at = to_size(index);
        return {std::span<const Element>{inputs_}.subspan(at * each, each),
                std::span<const std::int32_t>{labels_}.subspan(at * labels_each, labels_each), 1};
    }
    [[nodiscard]] iterator begin() const { return {*this, 0}; }
    [[nodiscard]] iterator end() const { return {*this, size_}; }

    /// The set in batches. Asked of a temporary, the range takes the samples along, so that
    /// `for (const auto& batch : load().batches(64))` is safe.
    [[nodiscard]] batch_range batches(std::int64_t batch_size, const batch_options& options = {}) const& {
        return batch_range{all(), batch_size, options};
    }
    [[nodiscard]] batch_range batches(std::int64_t batch_size, const batch_options& options = {}) && {
        return batch_range{std::move(inputs_), std::move(labels_), size_, batch_size, options};
    }

private:
    std::vector<Element> inputs_;
    std::vector<std::int32_t> labels_;
    std::int64_t size_ = 0;
};
using sample_set = basic_sample_set<float>;
using token_set = basic_sample_set<std::int32_t>;

} // namespace tessera::io

#include "tessera/base/end_header.inl"
