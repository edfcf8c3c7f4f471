// SPDX-License-Identifier: Apache-2.0
// Vocabularies, their files, and windows of texts, against brute force.
#include "tessera/io/files/text.hpp"
#include "support/refusal.hpp"
#include "temporary_folder.hpp"
#include "tessera/io/data/build_vocabulary.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

namespace {

using namespace tessera::io;
using test_support::message_of;
using numbers = std::vector<std::int32_t>;

std::string random_text(std::mt19937& random, std::size_t size, std::string_view letters) {
    std::string text;
    while (text.size() < size) text += letters[random() % letters.size()];
    return text;
}

std::string read(const std::string& text) {
    return message_of([&] { static_cast<void>(vocabulary_from_text(text, "v")); });
}

} // namespace

TEST_CASE("windows are tokens and the next tokens, wherever they begin, in any order") {
    std::mt19937 random(1);
    for (int round = 0; round < 300; ++round) {
        numbers tokens(2 + random() % 60);
        for (std::int32_t& t : tokens) t = static_cast<std::int32_t>(random() % 1000);
        const auto length = static_cast<std::int64_t>(1 + random() % (tokens.size() - 1));
        const auto stride = static_cast<std::int64_t>(1 + random() % 8);
        const text_set set(tokens, length, stride);
        std::set<std::pair<numbers, numbers>> expected;
        std::int64_t count = 0;
        for (std::int64_t at = 0; at + length + 1 <= static_cast<std::int64_t>(tokens.size()); at += stride, ++count)
            expected.insert({numbers(tokens.begin() + at, tokens.begin() + at + length),
                             numbers(tokens.begin() + at + 1, tokens.begin() + at + 1 + length)});
        CHECK(set.size() == count);
        batch_options options;
        if (random() % 2 == 0) options.shuffle_seed = random();
        std::set<std::pair<numbers, numbers>> seen;
        std::int64_t samples = 0;
        for (const token_batch& b : set.batches(static_cast<std::int64_t>(1 + random() % 5), options)) {
            REQUIRE(b.inputs.size() == tessera::to_size(b.size * length));
            REQUIRE(b.labels.size() == b.inputs.size());
            for (std::int64_t i = 0; i < b.size; ++i) {
                const numbers in(b.inputs.begin() + i * length, b.inputs.begin() + (i + 1) * length);
                const numbers out(b.labels.begin() + i * length, b.labels.begin() + (i + 1) * length);
                if (!options.shuffle_seed) {
                    CHECK(std::equal(in.begin(), in.end(), tokens.begin() + samples * stride));
                }
                seen.insert({in, out});
                ++samples;
            }
        }
        CHECK(seen == expected);
        CHECK(samples == count);
    }
    CHECK(test_support::contains(message_of([] {
                                     text_set({1, 2, 3}, 3);
                                 }),
                                 "a text of 3 tokens has no window of 3 with the token that comes next"));
    CHECK_THROWS_AS(text_set({1, 2, 3}, 0), tessera::error);
    CHECK_THROWS_AS(text_set({1, 2, 3}, 1, 0), tessera::error);
    CHECK_THROWS_AS(text_set({}, 1), tessera::error);
    const auto [first, rest] = cut({1, 2, 3, 4}, 0.75);
    CHECK(first == numbers{1, 2, 3});
    CHECK(rest == numbers{4});
    CHECK_THROWS_AS(static_cast<void>(cut({1, 2}, 1)), tessera::error);
}

TEST_CASE("a text is cut into the longest tokens, and comes back") {
    const vocabulary v({"a", "b", "ab", "abc", "c"});
    CHECK(v.encode("abcabba") == numbers{3, 2, 1, 0});
    CHECK(v.encode("").empty());
    CHECK(v.decode({3, 0}) == "abca");
    CHECK(message_of([&] { (void)v.encode("a\n"); }) ==
          "a text's byte 1, in line 1, is \\n, with which no token begins; build the vocabulary of a text that has it");
    CHECK_THROWS_AS((void)v.text_of(5), tessera::error);
    CHECK_THROWS_AS((void)v.text_of(-1), tessera::error);
    CHECK_THROWS_AS(vocabulary({"a", "a"}), tessera::error);
    CHECK_THROWS_AS(vocabulary({""}), tessera::error);
    CHECK_THROWS_AS(vocabulary({}), tessera::error);
    CHECK(byte_tokens("a\xff") == numbers{97, 255});
}

TEST_CASE("vocabularies of random texts are those of byte pair encoding by brute force") {
    std::mt19937 random(2);
    for (int round = 0; round < 60; ++round) {
        const std::string text =
            random_text(random, 1 + random() % 300, round % 2 == 0 ? "ab c\n" : "the cat \xc3\xa4");
        const auto size = static_cast<std::int32_t>(9 + random() % 30);
        const vocabulary v = build_vocabulary(text, size);
        // Every word as a list of texts; the best pair is counted again each time.
        std::vector<std::vector<std::string>> words;
        for (std::size_t i = 0; i < text.size(); ++i) {
            const auto white = [](char c) { return c == ' ' || c == '\n'; };
            const bool begins = i == 0 || white(text[i]) || (white(text[i - 1]) && text[i - 1] != ' ');
            if (begins) words.emplace_back();
            words.back().emplace_back(1, text[i]);
        }
        std::vector<std::string> tokens;
        for (int byte = 0; byte < 256; ++byte)
            if (text.find(static_cast<char>(byte)) != std::string::npos)
                tokens.emplace_back(1, static_cast<char>(byte));
        while (static_cast<std::int32_t>(tokens.size()) < size) {
            std::map<std::pair<std::ptrdiff_t, std::ptrdiff_t>, int> pairs;
            const auto number = [&](const std::string& t) {
                return std::find(tokens.begin(), tokens.end(), t) - tokens.begin();
            };
            for (const auto& w : words)
                for (std::size_t i = 0; i + 1 < w.size(); ++i)
                    if (number(w[i] + w[i + 1]) == static_cast<std::ptrdiff_t>(tokens.size()))
                        ++pairs[{number(w[i]), number(w[i + 1])}];
            int best = 1;
            std::pair<std::ptrdiff_t, std::ptrdiff_t> which;
            for (const auto& [p, n] : pairs)
                if (n > best) best = n, which = p;
            if (best < 2) break;
            const std::string a = tokens[tessera::to_size(which.first)];
            const std::string b = tokens[tessera::to_size(which.second)];
            for (auto& w : words)
                for (std::size_t i = 0; i + 1 < w.size(); ++i)
                    if (w[i] == a && w[i + 1] == b) {
                        w[i] += b;
                        w.erase(w.begin() + static_cast<std::ptrdiff_t>(i) + 1);
                    }
            tokens.push_back(a + b);
        }
        CHECK(v.tokens() == tokens);
        CHECK(v.decode(v.encode(text)) == text);
        CHECK(vocabulary_from_text(v.to_text(), "v") == v);
    }
    CHECK(build_vocabulary("ab", 256, true).size() == 256);
    CHECK_THROWS_AS((void)build_vocabulary("ab", 255, true), tessera::error);
    CHECK_THROWS_AS((void)build_vocabulary("ab", 1), tessera::error);
    CHECK_THROWS_AS((void)build_vocabulary("", 10), tessera::error);
}

TEST_CASE("a vocabulary's file keeps any bytes, and no part of it passes for the whole") {
    std::vector<std::string> all;
    for (int byte = 0; byte < 256; ++byte) all.push_back(std::string(1, static_cast<char>(byte)) + "x");
    all.push_back("\\x41\n");
    const vocabulary v(all);
    const test::temporary_folder folder;
    write_vocabulary(v, folder / "v");
    CHECK(read_vocabulary(folder / "v") == v);
    const std::string text = v.to_text();
    for (std::size_t kept = 0; kept < text.size(); ++kept) CHECK(read(text.substr(0, kept)) != "accepted");
    CHECK(read("") == "'v' is empty; build the vocabulary again");
    CHECK(test_support::contains(read("abc\n"), "'v' line 1 is no head of a vocabulary"));
    CHECK(test_support::contains(read("tessera_vocabulary 1 0\n"), "'v' line 1 must end with the number of tokens"));
    CHECK(test_support::contains(read("tessera_vocabulary 1 2x\na\nb\n"), "must end with the number of tokens"));
    CHECK(test_support::contains(read("tessera_vocabulary 1 1\na\nb\n"), "'v' line 3 is more than the tokens"));
    CHECK(test_support::contains(read("tessera_vocabulary 1 3\na\nb\n"), "the file has 2 tokens and promises 3"));
    CHECK(test_support::contains(read("tessera_vocabulary 1 2\na\na\n"), "'v' line 3 is the same token as line 2"));
    for (const char* line : {"", " ", "\\", "\\q", "\\x4", "\\x4G", "\xc3"})
        CHECK(
            test_support::contains(read("tessera_vocabulary 1 1\n" + std::string(line) + "\n"), "line 2 is no token"));
}

TEST_CASE("the hash of a text's windows is of tokens, length and stride") {
    const std::vector<std::int32_t> tokens{5, 3, 8, 1, 9, 2, 7, 4, 6, 0};
    std::vector<std::int32_t> changed = tokens;
    changed.back() = 1;
    const std::uint64_t hash = tessera::io::text_set(tokens, 3).hash();
    CHECK(tessera::io::text_set(tokens, 3, 3).hash() == hash);
    CHECK(tessera::io::text_set(tokens, 3, 2).hash() != hash);
    CHECK(tessera::io::text_set(tokens, 2, 3).hash() != hash);
    CHECK(tessera::io::text_set(changed, 3).hash() != hash);
}
