// SPDX-License-Identifier: Apache-2.0
// Batches made ahead are those of the range itself; exceptions come where their batch would; no loop hangs, wherever it
// is left.
#include "tessera/io/data/prefetch.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/io/train.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

using namespace tessera::io;

static_assert(std::input_iterator<prefetched<batch_range>::iterator>);
static_assert(!range_of_batches<std::vector<int>>);

sample_set numbered(std::int32_t samples) {
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    for (std::int32_t s = 0; s < samples; ++s) {
        inputs.insert(inputs.end(), {static_cast<float>(2 * s), static_cast<float>(2 * s + 1)});
        labels.push_back(s);
    }
    return {inputs, labels};
}

using seen_batch = std::pair<std::vector<float>, std::vector<std::int32_t>>;
template <class Range>
std::vector<seen_batch> walk(Range&& range, std::size_t most = SIZE_MAX) {
    std::vector<seen_batch> all;
    for (const auto& b : range) {
        if (all.size() == most) break;
        CHECK(b.size == static_cast<std::int64_t>(b.labels.size()));
        all.push_back({{b.inputs.begin(), b.inputs.end()}, {b.labels.begin(), b.labels.end()}});
    }
    return all;
}

/// Batches of one sample that throw at one of them, and count how many were asked for.
struct failing {
    struct points {
        std::vector<float> inputs;
        std::vector<std::int32_t> labels;
        int size = 1;
    };
    struct iterator {
        failing* from;
        points now;
        const points& operator*() const { return now; }
        iterator& operator++() {
            from->make(now);
            return *this;
        }
        bool operator==(std::default_sentinel_t) const { return now.labels[0] >= from->count; }
    };
    void make(points& p) {
        const int number = p.labels.empty() ? 0 : p.labels[0] + 1;
        if (number == bad) throw std::runtime_error("batch " + std::to_string(number));
        p.inputs = {static_cast<float>(number)};
        p.labels = {number};
        ++made;
    }
    iterator begin() {
        iterator first{this, {}};
        make(first.now);
        return first;
    }
    std::default_sentinel_t end() const { return {}; }
    int count;
    int bad;
    std::atomic<int> made{0};
};

} // namespace

TEST_CASE("batches that are made ahead are the range's own, in its order") {
    std::mt19937_64 random(1);
    for (int round = 0; round < 200; ++round) {
        const sample_set set = numbered(static_cast<std::int32_t>(1 + random() % 60));
        const auto each = static_cast<std::int64_t>(1 + random() % 9);
        const batch_options options{.shuffle_seed = random()};
        const auto expected = walk(set.batches(each, options));
        prefetched ahead(set.batches(each, options), static_cast<int>(1 + random() % 4));
        CHECK(walk(ahead) == expected);
        const std::size_t some = random() % (expected.size() + 1);
        CHECK(walk(ahead, some) ==
              std::vector<seen_batch>(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(some)));
        CHECK(walk(ahead) == expected); // a new loop after one that was left
    }
    for (const auto& b : prefetched(numbered(9).batches(4))) CHECK(b.inputs[0] == static_cast<float>(2 * b.labels[0]));
    CHECK_THROWS_AS(prefetched(numbered(9).batches(4), 0), tessera::error);
    prefetched never(numbered(9).batches(4)); // destroyed without a loop
}

TEST_CASE("what making a batch throws comes where the batch would have come") {
    for (int bad = 0; bad < 6; ++bad) {
        for (int depth = 1; depth <= 3; ++depth) {
            failing range{6, bad};
            prefetched ahead(range, depth);
            for (int loop = 0; loop < 2; ++loop) {
                int seen = 0;
                CHECK_THROWS_WITH_AS(
                    [&] {
                        for (const auto& b : ahead) CHECK(b.labels[0] == seen++);
                    }(),
                    ("batch " + std::to_string(bad)).c_str(), std::runtime_error);
                CHECK(seen == bad);
            }
        }
    }
}

TEST_CASE("no more batches are made ahead than was said") {
    failing range{100, -1};
    prefetched ahead(range, 3);
    auto i = ahead.begin();
    for (int at = 1; at <= 10; ++at, ++i) {
        // The one that the loop is at, three ahead, and one in the thread's hands that has no place yet.
        for (int wait = 0; wait < 1000 && range.made < at + 4; ++wait)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        CHECK(range.made == at + 4);
    }
}

namespace {
struct fc : tessera::linear<3> {};
struct network : tessera::sequential<tessera::features<2>, fc, tessera::cross_entropy> {};
} // namespace

TEST_CASE("training takes the same steps with batches that are made ahead") {
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    for (int i = 0; i < 21; ++i) {
        inputs.insert(inputs.end(), {static_cast<float>(i % 5) - 2, static_cast<float>(i % 3) - 1});
        labels.push_back(i % 3);
    }
    const sample_set set(inputs, labels);
    std::vector<std::vector<double>> losses;
    for (const int prefetch : {0, 1, 3}) {
        tessera::trainer<network, tessera::reference::backend> trainer(
            tessera::local_devices(1), tessera::strategy(tessera::describe<network>(4).view()), 4, tessera::sgd{}, {});
        losses.emplace_back();
        for (const auto& r : train(trainer, set, {.epochs = 2, .prefetch = prefetch}))
            losses.back().insert(losses.back().end(), r.losses.begin(), r.losses.end());
    }
    CHECK(losses[0].size() == 12);
    CHECK(losses[1] == losses[0]);
    CHECK(losses[2] == losses[0]);
}
