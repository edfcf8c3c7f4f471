// SPDX-License-Identifier: Apache-2.0
// Views of range-v3 over data sets and batches, against plain loops over the same.
#include "tessera/io/data/range_v3.hpp"
#include "tessera/io/data/fashion_mnist.hpp"

#include <doctest/doctest.h>

#include <range/v3/view/chunk.hpp>
#include <range/v3/view/drop.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/reverse.hpp>
#include <range/v3/view/stride.hpp>
#include <range/v3/view/take.hpp>
#include <range/v3/view/transform.hpp>
#include <range/v3/view/zip.hpp>

#include <utility>
#include <vector>

namespace {

using namespace tessera::io;
namespace views = ranges::views;

static_assert(ranges::random_access_range<const image_set>);
static_assert(!ranges::forward_range<batch_range>); // a batch is valid until the next
static_assert(std::is_same_v<ranges::range_reference_t<batch_range>, const batch&>);

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

using numbers = std::vector<std::int32_t>;

numbers labels_of(const batch& b) {
    for (std::size_t i = 0; i < b.labels.size(); ++i) {
        CHECK(b.inputs[3 * i + 2] == static_cast<float>(3 * b.labels[i] + 2));
    }
    return {b.labels.begin(), b.labels.end()};
}

/// The labels of every batch, by a plain loop.
std::vector<numbers> looped(batch_range all) {
    std::vector<numbers> seen;
    for (const batch& b : all) seen.push_back(labels_of(b));
    return seen;
}

constexpr batch_options shuffled{.shuffle_seed = 7, .epoch = 3};

} // namespace

TEST_CASE("take and drop are the first batches of a loop, and the rest") {
    const sample_set set = numbered(23);
    for (const batch_options& options : {batch_options{}, shuffled}) {
        const std::vector<numbers> all = looped(set.batches(5, options));
        REQUIRE(all.size() == 5);
        for (const int n : {0, 1, 3, 5, 9}) {
            std::vector<numbers> seen;
            for (const batch& b : set.batches(5, options) | views::take(n)) seen.push_back(labels_of(b));
            for (const batch& b : set.batches(5, options) | views::drop(n)) seen.push_back(labels_of(b));
            CHECK(seen == all); // the last one is short
        }
    }
}

TEST_CASE("zip goes through batches and something else side by side, also two loops over one set") {
    const sample_set set = numbered(12);
    const std::vector<numbers> all = looped(set.batches(4, shuffled));
    std::size_t count = 0;
    for (const auto& [step, b] : views::zip(views::iota(std::size_t{0}), set.batches(4, shuffled))) {
        CHECK(labels_of(b) == all[step]);
        ++count;
    }
    CHECK(count == all.size());
    // One shuffled loop copied: each has batches of its own.
    batch_range one = set.batches(4, shuffled);
    auto first = one.begin();
    ++first;
    for (const auto& [a, b] :
         views::zip(one | views::transform(labels_of), set.batches(4) | views::transform(labels_of))) {
        CHECK(a != b);
    }
    batch_range other = one;
    auto ahead = other.begin();
    ++ahead;
    auto behind = one.begin();
    CHECK(labels_of(*behind) == all[0]);
    CHECK(labels_of(*ahead) == all[1]);
}

TEST_CASE("transform changes batches on their way") {
    const sample_set set = numbered(10);
    std::vector<float> doubled;
    const auto twice = [&](const batch& b) {
        doubled.assign(b.inputs.begin(), b.inputs.end());
        for (float& x : doubled) x *= 2;
        return batch{doubled, b.labels, b.size};
    };
    std::int32_t label = 0;
    for (const batch& b : set.batches(4) | views::transform(twice)) {
        for (std::size_t i = 0; i < b.labels.size(); ++i, ++label) {
            CHECK(b.labels[i] == label);
            CHECK(b.inputs[3 * i] == static_cast<float>(6 * label));
        }
    }
    CHECK(label == 10);
}

TEST_CASE("chunk makes groups of batches, such as those of an accumulated gradient") {
    const sample_set set = numbered(23);
    const std::vector<numbers> all = looped(set.batches(3, shuffled));
    std::size_t at = 0;
    std::vector<int> sizes;
    for (auto group : set.batches(3, shuffled) | views::chunk(3)) {
        sizes.push_back(0);
        for (const batch& b : group) {
            CHECK(labels_of(b) == all[at++]);
            ++sizes.back();
        }
    }
    CHECK(sizes == std::vector<int>{3, 3, 2});
    CHECK(at == all.size());
}

TEST_CASE("a set is a random access range of samples") {
    const sample_set set = numbered(9);
    numbers seen;
    for (const batch& s : set | views::filter([](const batch& b) { return b.labels[0] % 2 == 1; }) | views::reverse) {
        CHECK(s.size == 1);
        CHECK(s.inputs.size() == 3);
        seen.push_back(labels_of(s)[0]);
    }
    CHECK(seen == numbers{7, 5, 3, 1});
    seen.clear();
    for (auto part : set | views::stride(2) | views::chunk(2)) {
        for (const batch& s : part) seen.push_back(s.labels[0]);
        seen.push_back(-1);
    }
    CHECK(seen == numbers{0, 2, -1, 4, 6, -1, 8, -1});
    const auto i = set.begin();
    CHECK(i[4].labels[0] == 4);
    CHECK((set.end() - i) == 9);
    CHECK(((i + 3) > i && (*(2 + i)).labels[0] == 2));
    auto walking = i;
    CHECK((*walking++).labels[0] == 0);
    CHECK((*walking--).labels[0] == 1);
    CHECK(walking == i);
}

TEST_CASE("a view over a temporary keeps the samples, and a range by itself is empty") {
    const auto view = numbered(6).batches(4, shuffled) | views::take(1);
    const auto copy = view;
    int batches = 0;
    for (auto again : {view, copy}) {
        for (const batch& b : again) {
            CHECK(labels_of(b).size() == 4);
            ++batches;
        }
    }
    CHECK(batches == 2);
    batch_range nothing;
    CHECK(nothing.count() == 0);
    CHECK((nothing.begin() == nothing.end()));
}
