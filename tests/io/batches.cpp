// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/batches.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <vector>

namespace {

using namespace tessera::io;

static_assert(std::input_iterator<batch_range::iterator>);
static_assert(std::sentinel_for<std::default_sentinel_t, batch_range::iterator>);

/// Samples of three inputs, 3s, 3s + 1 and 3s + 2, and the label s.
sample_set numbered(std::int32_t samples) {
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    for (std::int32_t s = 0; s < samples; ++s) {
        for (const int i : {0, 1, 2}) inputs.push_back(static_cast<float>(3 * s + i));
        labels.push_back(s);
    }
    return {inputs, labels};
}

/// The labels in the order in which they come; checks that each label has its inputs.
std::vector<std::int32_t> walk(batch_range& range, std::vector<std::int64_t>* sizes = nullptr) {
    std::vector<std::int32_t> seen;
    for (const batch& part : range) {
        REQUIRE(part.labels.size() == static_cast<std::size_t>(part.size));
        REQUIRE(part.inputs.size() == static_cast<std::size_t>(part.size) * 3);
        for (std::size_t i = 0; i < part.labels.size(); ++i) {
            seen.push_back(part.labels[i]);
            for (std::size_t j = 0; j < 3; ++j)
                CHECK(part.inputs[3 * i + j] == static_cast<float>(3 * part.labels[i]) + static_cast<float>(j));
        }
        if (sizes != nullptr) sizes->push_back(part.size);
    }
    return seen;
}

std::vector<std::int32_t> up_to(std::int32_t samples) {
    std::vector<std::int32_t> result(static_cast<std::size_t>(samples));
    std::iota(result.begin(), result.end(), 0);
    return result;
}

} // namespace

TEST_CASE("batches come in order, the last one short or dropped") {
    const sample_set set = numbered(10);
    for (std::int64_t size = 1; size <= 12; ++size) {
        std::vector<std::int64_t> sizes;
        auto range = set.batches(size);
        CHECK(walk(range, &sizes) == up_to(10));
        CHECK(range.count() == static_cast<std::int64_t>(sizes.size()));
        for (std::size_t i = 0; i + 1 < sizes.size(); ++i) CHECK(sizes[i] == size);
        CHECK(sizes.back() == (10 - 1) % size + 1);
        if (size > 10) continue;
        sizes.clear();
        auto full = set.batches(size, {.drop_last = true});
        CHECK(walk(full, &sizes) == up_to(static_cast<std::int32_t>(10 / size * size)));
        CHECK(sizes == std::vector<std::int64_t>(static_cast<std::size_t>(10 / size), size));
        CHECK(full.count() == 10 / size);
    }
}

TEST_CASE("a shuffled epoch has every sample once, with its inputs, in an order of its own") {
    const sample_set set = numbered(1000);
    auto range = set.batches(64, {.shuffle_seed = 7, .epoch = 3});
    std::vector<std::int64_t> sizes;
    const auto first = walk(range, &sizes);
    CHECK(sizes.size() == 16);
    CHECK(sizes.back() == 40);
    CHECK(std::is_permutation(first.begin(), first.end(), up_to(1000).begin()));
    CHECK(first != up_to(1000));
    CHECK(walk(range) == first); // a new loop starts over
    auto same = set.batches(10, {.shuffle_seed = 7, .epoch = 3});
    CHECK(walk(same) == first); // whatever the batch size
    auto next = set.batches(64, {.shuffle_seed = 7, .epoch = 4});
    CHECK(walk(next) != first);
    auto other = set.batches(64, {.shuffle_seed = 8, .epoch = 3});
    CHECK(walk(other) != first);
}

TEST_CASE("the shuffle is the same on every machine") {
    // From a second implementation, in Python with unbounded integers.
    CHECK(shuffled_order(8, 1, 0) == std::vector<std::int64_t>{4, 2, 0, 5, 6, 1, 7, 3});
    CHECK(shuffled_order(8, 1, 1) == std::vector<std::int64_t>{3, 5, 6, 7, 2, 0, 4, 1});
    CHECK(shuffled_order(0, 1, 1).empty());
    CHECK(shuffled_order(1, 1, 1) == std::vector<std::int64_t>{0});
}

TEST_CASE("every order is equally likely") {
    // 24 orders of 4 samples, 24000 epochs: chi-squared with 23 degrees of freedom is above 60 once in 30000 times.
    std::array<int, 24> count{};
    for (std::uint64_t epoch = 0; epoch < 24000; ++epoch) {
        const auto order = shuffled_order(4, 42, epoch);
        std::size_t rank = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            std::size_t smaller_after = 0;
            for (std::size_t j = i + 1; j < 4; ++j) smaller_after += order[j] < order[i] ? 1 : 0;
            rank = rank * (4 - i) + smaller_after;
        }
        ++count.at(rank);
    }
    double chi_squared = 0;
    for (const int n : count) chi_squared += (n - 1000.0) * (n - 1000.0) / 1000.0;
    CHECK(chi_squared < 60);
}

TEST_CASE("a range asked of a temporary keeps its samples, also when it is moved") {
    std::vector<std::int32_t> seen;
    for (const batch& part : numbered(100).batches(7, {.shuffle_seed = 1}))
        seen.insert(seen.end(), part.labels.begin(), part.labels.end());
    CHECK(std::is_permutation(seen.begin(), seen.end(), up_to(100).begin()));
    batch_range first = numbered(100).batches(7);
    batch_range second = std::move(first);
    CHECK(walk(second) == up_to(100));
}

TEST_CASE("a sample may have several labels") {
    const sample_set pixels{{1, 2, 3, 4, 5, 6}, {1, 1, 2, 2, 3, 3}, 3};
    std::int64_t samples = 0;
    for (const batch& part : pixels.batches(2, {.shuffle_seed = 5})) {
        REQUIRE(part.labels.size() == 2 * static_cast<std::size_t>(part.size));
        for (std::size_t i = 0; i < part.labels.size(); ++i)
            CHECK(part.inputs[i] == static_cast<float>(2 * part.labels[i]) - (i % 2 == 0 ? 1.0F : 0.0F));
        samples += part.size;
    }
    CHECK(samples == 3);
}

TEST_CASE("sizes that do not fit are refused") {
    const sample_set set = numbered(10);
    CHECK_THROWS_WITH_AS(static_cast<void>(set.batches(0)),
                         "a batch of 0 samples was asked for; a batch has at least 1", tessera::error);
    CHECK_THROWS_AS(static_cast<void>(set.batches(-1)), tessera::error);
    CHECK(set.batches(INT64_MAX).count() == 1);
    CHECK_THROWS_AS(static_cast<void>(set.batches(11, {.drop_last = true})), tessera::error);
    CHECK_THROWS_WITH_AS(sample_set({1, 2, 3}, {0, 1}),
                         "a set has 3 input elements for 2 samples; each sample needs the same number, at least 1",
                         tessera::error);
    CHECK_THROWS_AS(sample_set({1, 2, 3, 4}, {0, 1, 2}, 2), tessera::error);
    CHECK_THROWS_AS(sample_set({}, {0, 1}), tessera::error);
    CHECK_THROWS_AS(sample_set({}, {}), tessera::error);
    CHECK_THROWS_AS(sample_set({1}, {1}, -1), tessera::error);
}
