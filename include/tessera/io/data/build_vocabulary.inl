// SPDX-License-Identifier: Apache-2.0
// Bodies of build_vocabulary.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/io/data/build_vocabulary.hpp"

namespace tessera::io::detail {

TESSERA_INLINE counted_words words_of(std::string_view text, const std::array<std::int32_t, 256>& number) {
    const auto white = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
    std::map<std::string_view, std::int64_t> seen;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at + 1;
        if (!white(text[at]) || (text[at] == ' ' && end < text.size() && !white(text[end]))) {
            while (end < text.size() && !white(text[end])) ++end;
        }
        ++seen[text.substr(at, end - at)];
        at = end;
    }
    counted_words all;
    for (const auto& [word, count] : seen) {
        std::vector<std::int32_t>& tokens = all.words.emplace_back();
        for (const char c : word) tokens.push_back(number.at(static_cast<unsigned char>(c)));
        all.count.push_back(count);
    }
    return all;
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE vocabulary build_vocabulary(std::string_view text, std::int32_t size, bool every_byte) {
    if (text.empty()) throw error("a vocabulary is built of a text that is empty; hand in one");
    std::array<bool, 256> there{};
    for (const char c : text) there.at(static_cast<unsigned char>(c)) = true;
    if (every_byte) there.fill(true);
    std::vector<std::string> tokens;
    std::array<std::int32_t, 256> number{};
    for (std::size_t byte = 0; byte < 256; ++byte) {
        if (!there.at(byte)) continue;
        number.at(byte) = static_cast<std::int32_t>(tokens.size());
        tokens.emplace_back(1, static_cast<char>(byte));
    }
    if (size < static_cast<std::int32_t>(tokens.size()))
        throw error("a vocabulary of " + std::to_string(size) + " tokens has no place for the " +
                    std::to_string(tokens.size()) + " bytes that the text may have; ask for more");
    detail::counted_words all = detail::words_of(text, number);
    using pair = std::pair<std::int32_t, std::int32_t>;
    std::map<pair, std::int64_t> pairs;
    const auto count = [&](std::size_t w, std::int64_t sign) {
        const std::vector<std::int32_t>& word = all.words[w];
        for (std::size_t i = 0; i + 1 < word.size(); ++i) pairs[{word[i], word[i + 1]}] += sign * all.count[w];
    };
    for (std::size_t w = 0; w < all.words.size(); ++w) count(w, 1);
    std::unordered_map<std::string, int> known;
    for (const std::string& t : tokens) known[t] = 1;
    while (static_cast<std::int32_t>(tokens.size()) < size) {
        const auto best = std::max_element(pairs.begin(), pairs.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        if (best == pairs.end() || best->second < 2) break;
        const pair merged = best->first;
        std::string joined = tokens[to_size(merged.first)];
        joined += tokens[to_size(merged.second)];
        if (known[joined]++ > 0) { // made of other parts before
            pairs.erase(best);
            continue;
        }
        const auto next = static_cast<std::int32_t>(tokens.size());
        tokens.push_back(joined);
        for (std::size_t w = 0; w < all.words.size(); ++w) {
            std::vector<std::int32_t>& word = all.words[w];
            bool has = false;
            for (std::size_t i = 0; i + 1 < word.size() && !has; ++i)
                has = word[i] == merged.first && word[i + 1] == merged.second;
            if (!has) continue;
            count(w, -1);
            std::size_t kept = 0;
            for (std::size_t i = 0; i < word.size(); ++i) {
                const bool here = i + 1 < word.size() && word[i] == merged.first && word[i + 1] == merged.second;
                word[kept++] = here ? next : word[i];
                i += here ? 1 : 0;
            }
            word.resize(kept);
            count(w, 1);
        }
        std::erase_if(pairs, [](const auto& p) { return p.second <= 0; });
    }
    return vocabulary(std::move(tokens));
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
