// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/data/sequences.hpp"

#include "support/refusal.hpp"
#include "tessera/op/mask.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

namespace {

namespace io = tessera::io;
using test_support::contains;
using test_support::message_of;

using sequences = std::vector<std::vector<std::int32_t>>;

/// Sequence i begins with i, so that a batch says which it has.
std::pair<sequences, sequences> some(int count, int longest, std::uint64_t seed) {
    sequences tokens, labels;
    for (int i = 0; i < count; ++i) {
        const std::uint64_t x = tessera::op::mix(seed * 1000 + static_cast<std::uint64_t>(i));
        std::vector<std::int32_t> t{i}, l{i + 1000};
        for (int k = static_cast<int>(x % static_cast<std::uint64_t>(longest)); k > 0; --k) {
            t.push_back(k);
            l.push_back(-k);
        }
        tokens.push_back(t);
        labels.push_back(l);
    }
    return {tokens, labels};
}

} // namespace

TEST_CASE("each sample comes once an epoch, in the first bucket that is long enough, padded at its end") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto [tokens, labels] = some(60, 30, seed);
        const sequences own = tokens; // a structured binding cannot be captured
        const sequences theirs = labels;
        const io::sequence_set set(own, theirs);
        const std::vector<std::int64_t> buckets{4, 11, 30};
        io::batch_options options;
        options.epoch = seed;
        if (seed % 2 == 1) options.shuffle_seed = seed;
        std::multiset<std::int32_t> seen;
        std::map<std::int64_t, int> short_batches;
        auto range = set.batches(7, buckets, options, {.token = 99, .label = -5});
        for (int loop = 0; loop < 2; ++loop) {
            seen.clear();
            short_batches.clear();
            for (const io::padded_batch& b : range) {
                REQUIRE(b.size <= 7);
                REQUIRE(static_cast<std::int64_t>(b.inputs.size()) == b.size * b.length);
                REQUIRE(b.labels.size() == b.inputs.size());
                REQUIRE(static_cast<std::int64_t>(b.lengths.size()) == b.size);
                short_batches[b.length] += b.size < 7 ? 1 : 0;
                for (std::int64_t i = 0; i < b.size; ++i) {
                    const auto at = tessera::to_size(i * b.length);
                    const std::int32_t which = b.inputs[at];
                    seen.insert(which);
                    const auto& t = own[tessera::to_size(which)];
                    const auto& l = theirs[tessera::to_size(which)];
                    CHECK(b.lengths[tessera::to_size(i)] == static_cast<std::int32_t>(t.size()));
                    std::int64_t fits = buckets.back();
                    for (const std::int64_t bucket : buckets) {
                        fits = bucket >= static_cast<std::int64_t>(t.size()) && bucket < fits ? bucket : fits;
                    }
                    CHECK(b.length == fits);
                    for (std::size_t k = 0; k < tessera::to_size(b.length); ++k) {
                        CHECK(b.inputs[at + k] == (k < t.size() ? t[k] : 99));
                        CHECK(b.labels[at + k] == (k < t.size() ? l[k] : -5));
                    }
                }
            }
            CHECK(seen.size() == 60);
            CHECK(std::set<std::int32_t>(seen.begin(), seen.end()).size() == 60);
            for (const auto& [length, count] : short_batches) {
                CHECK(count <= 1);
            }
        }
    }
}

TEST_CASE("an epoch has an order of its own, the same again with the same seed; short batches can be left out") {
    const auto [tokens, labels] = some(50, 9, 3);
    const io::sequence_set set(tokens, labels);
    const auto firsts = [&](std::uint64_t epoch, bool drop) {
        std::vector<std::int32_t> order;
        io::batch_options options{.shuffle_seed = 5, .epoch = epoch, .drop_last = drop};
        auto range = set.batches(8, {3, 9}, options);
        for (const io::padded_batch& b : range) {
            CHECK((!drop || b.size == 8));
            order.push_back(b.inputs[0]);
        }
        return order;
    };
    CHECK(firsts(1, false) == firsts(1, false));
    CHECK(firsts(1, false) != firsts(2, false));
    CHECK(firsts(1, true).size() < firsts(1, false).size());
}

TEST_CASE("the next token is the label") {
    const io::sequence_set set = io::sequence_set::of_next_tokens({{7, 8, 9}, {1, 2}});
    CHECK(set.longest() == 2);
    auto range = set.batches(2, {2});
    const io::padded_batch b = *range.begin();
    CHECK(std::vector<std::int32_t>(b.inputs.begin(), b.inputs.end()) == std::vector<std::int32_t>{7, 8, 1, 0});
    CHECK(std::vector<std::int32_t>(b.labels.begin(), b.labels.end()) == std::vector<std::int32_t>{8, 9, 2, -100});
}

TEST_CASE("what is wrong is said") {
    const auto refused = [](auto&& f) { return message_of(f); };
    CHECK(contains(refused([] { return io::sequence_set({}, {}); }), "no sequences"));
    CHECK(contains(refused([] { return io::sequence_set({{1}, {}}, {{1}, {}}); }), "sequence 1 has 0 tokens"));
    CHECK(contains(refused([] { return io::sequence_set({{1, 2}}, {{1}}); }), "2 tokens and 1 labels"));
    CHECK(contains(refused([] { return io::sequence_set({{1}}, {}); }), "labels for 0"));
    CHECK(contains(refused([] { return io::sequence_set::of_next_tokens({{1}}); }), "none comes next"));
    const io::sequence_set set({{1, 2, 3}}, {{1, 2, 3}});
    CHECK(contains(refused([&] { return set.batches(0, {3}); }), "at least 1"));
    CHECK(contains(refused([&] { return set.batches(1, {}); }), "lengths that rise"));
    CHECK(contains(refused([&] { return set.batches(1, {5, 5}); }), "lengths that rise"));
    CHECK(contains(refused([&] { return set.batches(1, {2}); }), "fits in no bucket"));
    CHECK(contains(refused([&] { return set.batches(1, {3}, {.first_sample = 1}); }), "start of an epoch"));
}
