// SPDX-License-Identifier: Apache-2.0
// Batches made by a thread of their own while others are trained on, in the same order.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/data/batches.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::io {

/// A range whose elements have contiguous `inputs` and `labels`, and `size`.
template <class Range>
concept range_of_batches = requires(Range& range) {
    std::span((*range.begin()).inputs);
    std::span<const std::int32_t>((*range.begin()).labels);
    static_cast<std::int64_t>((*range.begin()).size);
};

/// for (const auto& batch : prefetched(set.batches(64), 2)): an input range of the same batches, of which up to `depth`
/// are made ahead. A range that is handed in as a temporary is kept, another one must outlive it and is not to be used
/// meanwhile. What the range throws is thrown where its batch would have come. Leaving the loop early waits for the
/// batch that is being made, no longer.
template <range_of_batches Range>
class prefetched {
    using source = std::remove_reference_t<Range>;
    using numbers = decltype(std::span((*std::declval<source&>().begin()).inputs));

public:
    using batch = basic_batch<typename numbers::value_type>;

    class iterator {
    public:
        using value_type = batch;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        iterator() = default;
        explicit iterator(prefetched& range) : range_{&range} {}
        const batch& operator*() const { return range_->current_; }
        iterator& operator++() {
            range_->next(true);
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(std::default_sentinel_t) const { return range_->over_; }

    private:
        prefetched* range_ = nullptr;
    };

    /// Throws tessera::error for a depth below 1.
    explicit prefetched(Range&& range, int depth = 2) : range_(std::forward<Range>(range)) {
        if (depth < 1)
            throw error(std::to_string(depth) + " batches are to be made ahead; make at least 1, or do not prefetch");
        slots_.resize(to_size(depth) + 1); // and the one that the loop is at
    }
    prefetched(const prefetched&) = delete;
    prefetched& operator=(const prefetched&) = delete;
    ~prefetched() { stop(); }

    /// A new loop from the beginning of the range.
    iterator begin() {
        stop();
        made_ = released_ = 0;
        stopping_ = finished_ = over_ = false;
        failure_ = nullptr;
        thread_ = std::thread([this] { make_all(); });
        next(false);
        return iterator{*this};
    }
    [[nodiscard]] std::default_sentinel_t end() const { return {}; }

private:
    struct slot {
        std::vector<typename numbers::value_type> inputs;
        std::vector<std::int32_t> labels;
        std::int64_t size = 0;
    };

    void stop() {
        if (!thread_.joinable()) return;
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

    void make_all() {
        try {
            for (auto&& b : range_) {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [&] { return stopping_ || made_ - released_ < slots_.size(); });
                if (stopping_) return;
                slot& to = slots_[made_ % slots_.size()];
                lock.unlock(); // nobody else reads a slot that is not made
                const auto inputs = std::span(b.inputs);
                const std::span<const std::int32_t> labels(b.labels);
                to.inputs.assign(inputs.begin(), inputs.end());
                to.labels.assign(labels.begin(), labels.end());
                to.size = static_cast<std::int64_t>(b.size);
                lock.lock();
                ++made_;
                lock.unlock();
                changed_.notify_all();
            }
        } catch (...) {
            const std::lock_guard lock(mutex_);
            failure_ = std::current_exception();
        }
        {
            const std::lock_guard lock(mutex_);
            finished_ = true;
        }
        changed_.notify_all();
    }

    /// Gives the batch that the loop is at back, and waits for the next one.
    void next(bool release) {
        std::unique_lock lock(mutex_);
        if (release) {
            ++released_;
            changed_.notify_all();
        }
        changed_.wait(lock, [&] { return made_ > released_ || finished_; });
        if (made_ > released_) {
            const slot& now = slots_[released_ % slots_.size()];
            current_ = {now.inputs, now.labels, now.size};
            return;
        }
        over_ = true;
        current_ = {};
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }

    Range range_;
    std::vector<slot> slots_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t made_ = 0;     // batches that the thread has made
    std::size_t released_ = 0; // batches that the loop has left behind
    bool stopping_ = false;
    bool finished_ = false;
    std::exception_ptr failure_;
    std::thread thread_;
    bool over_ = true; // of the loop alone, as the batch that it is at
    batch current_;
};

template <class Range>
prefetched(Range&&) -> prefetched<Range>;
template <class Range>
prefetched(Range&&, int) -> prefetched<Range>;

} // namespace tessera::io

#include "tessera/base/end_header.inl"
