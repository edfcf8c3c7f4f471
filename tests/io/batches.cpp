// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/data/batches.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <random>
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
        REQUIRE(part.labels.size() == tessera::to_size(part.size));
        REQUIRE(part.inputs.size() == tessera::to_size(part.size) * 3);
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
    std::vector<std::int32_t> result(tessera::to_size(samples));
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
        CHECK(sizes == std::vector<std::int64_t>(tessera::to_size(10 / size), size));
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
    CHECK(shuffled_order(8, 1, 0) == std::vector<std::int64_t>{4, 2, 1, 6, 7, 3, 5, 0});
    CHECK(shuffled_order(8, 1, 1) == std::vector<std::int64_t>{0, 4, 7, 1, 3, 6, 2, 5});
    CHECK(shuffled_order(0, 1, 1).empty());
    CHECK(shuffled_order(1, 1, 1) == std::vector<std::int64_t>{0});
    const epoch_order large(100000, 3, 2);
    CHECK(large(0) == 28395);
    CHECK(large(3) == 68372);
    CHECK(large(99999) == 13918);
}

TEST_CASE("any size, seed and epoch gives a permutation, each position at once") {
    std::mt19937_64 random(11);
    for (int round = 0; round < 300; ++round) {
        // Sizes around powers of two, where the walk is longest and where there is none.
        const auto power = std::int64_t{1} << (random() % 15);
        const std::int64_t size = std::max<std::int64_t>(1, power + static_cast<std::int64_t>(random() % 5) - 2);
        const std::uint64_t seed = random();
        const std::uint64_t epoch = random() % 100;
        const std::vector<std::int64_t> order = shuffled_order(size, seed, epoch);
        std::vector<char> seen(tessera::to_size(size), 0);
        for (const std::int64_t sample : order) ++seen.at(tessera::to_size(sample));
        CHECK(std::count(seen.begin(), seen.end(), 1) == size);
        const auto position = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size));
        CHECK(epoch_order(size, seed, epoch)(position) == order[tessera::to_size(position)]);
    }
    const epoch_order huge(std::int64_t{1} << 62, 1, 1); // no array of it fits anywhere
    CHECK(huge(0) != huge(1));
}

TEST_CASE("neighbours in the set are not neighbours in an epoch, and epochs are apart") {
    constexpr std::int64_t size = 20000;
    const std::vector<std::int64_t> first = shuffled_order(size, 1, 0);
    const std::vector<std::int64_t> second = shuffled_order(size, 1, 1);
    int together = 0;
    int same = 0;
    for (std::size_t i = 0; i + 1 < first.size(); ++i) {
        together += std::abs(first[i + 1] - first[i]) == 1 ? 1 : 0;
        same += first[i] == second[i] ? 1 : 0;
    }
    CHECK(together < 12); // 2 are expected, and 1 below: above these bounds once in a million
    CHECK(same < 10);
}

TEST_CASE("a loop that goes on in the middle of an epoch has the samples that were left") {
    std::mt19937_64 random(12);
    for (int round = 0; round < 200; ++round) {
        const auto size = static_cast<std::int32_t>(1 + random() % 60);
        const auto each = static_cast<std::int64_t>(1 + random() % 9);
        const bool drop = random() % 2 == 0 && each <= size;
        batch_options options{.epoch = random() % 4, .drop_last = drop};
        if (random() % 3 != 0) options.shuffle_seed = random();
        const sample_set set = numbered(size);
        auto whole = set.batches(each, options);
        const std::vector<std::int32_t> all = walk(whole);
        std::size_t seen = 0;
        for (const batch& b : whole) {
            seen += b.labels.size();
            const data_position here = whole.next_position();
            CHECK(here.next_sample == static_cast<std::int64_t>(seen));
            if (here.next_sample == size) {
                CHECK(resume(here, size).epoch == options.epoch + 1);
                continue;
            }
            auto rest = set.batches(each, resume(here, size, drop));
            CHECK(rest.next_position() == here);
            CHECK(rest.count() == (static_cast<std::int64_t>(all.size() - seen) + each - 1) / each);
            CHECK(walk(rest) == std::vector<std::int32_t>(all.begin() + static_cast<std::ptrdiff_t>(seen), all.end()));
        }
    }
    CHECK_THROWS_WITH_AS(static_cast<void>(resume({.next_sample = 5, .set_size = 10}, 11)),
                         "training cannot go on at sample 5 of a set of 10 in a set of 11; hand in the same set, or "
                         "start a new epoch",
                         tessera::error);
    CHECK_THROWS_AS(static_cast<void>(resume({.next_sample = 11, .set_size = 10}, 10)), tessera::error);
    CHECK_THROWS_AS(static_cast<void>(numbered(10).batches(2, {.first_sample = 11})), tessera::error);
    CHECK_THROWS_AS(static_cast<void>(numbered(10).batches(2, {.first_sample = -1})), tessera::error);
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
        REQUIRE(part.labels.size() == 2 * tessera::to_size(part.size));
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
