// SPDX-License-Identifier: Apache-2.0
// Bodies of nearest.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/nearest.hpp"

namespace tessera {

TESSERA_INLINE std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most) {
    if ((a.size() > b.size() ? a.size() - b.size() : b.size() - a.size()) > most) {
        return most + 1;
    }
    std::vector<std::size_t> before2(b.size() + 1, most + 1);
    std::vector<std::size_t> before(b.size() + 1, most + 1);
    std::vector<std::size_t> now(b.size() + 1, most + 1);
    for (std::size_t j = 0; j <= std::min(b.size(), most); ++j) {
        before[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        const std::size_t first = i > most ? i - most : 0;
        const std::size_t last = std::min(b.size(), i + most);
        std::size_t least = most + 1;
        for (std::size_t j = first; j <= last; ++j) {
            std::size_t d = before[j] + 1;
            if (j > 0) {
                d = std::min(
                    {d, (j > first ? now[j - 1] : most) + 1, before[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
            }
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                d = std::min(d, before2[j - 2] + 1);
            }
            now[j] = std::min(d, most + 1);
            least = std::min(least, now[j]);
        }
        if (last < b.size()) {
            now[last + 1] = most + 1; // which the next word's row reads
        }
        if (least > most && std::all_of(before.begin(), before.end(), [&](std::size_t d) { return d > most; })) {
            return most + 1;
        }
        before2.swap(before);
        before.swap(now);
    }
    return before[b.size()];
}

TESSERA_INLINE std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
    if (word.size() > most_letters) {
        return {};
    }
    std::size_t least = std::max<std::size_t>(word.size() / 3, 1) + 1;
    std::vector<std::string> near;
    for (const std::string& name : names) {
        const std::size_t d = edit_distance(word, name, least);
        if (d < least) {
            near.clear();
            least = d;
        }
        if (d == least && d <= std::max<std::size_t>(word.size() / 3, 1)) {
            near.push_back(name);
        }
    }
    if (near.empty() && word.size() > 1) {
        for (const std::string& name : names) {
            const bool begins = name.compare(0, word.size(), word) == 0;
            if ((begins && name.size() <= 2 * most_letters) ||
                (name.size() > 2 && word.compare(0, name.size(), name) == 0)) {
                near.push_back(name);
            }
        }
    }
    std::string text;
    const std::size_t shown = std::min<std::size_t>(near.size(), 3);
    for (std::size_t i = 0; i < shown; ++i) {
        text += (i == 0 ? "; did you mean " : i + 1 == shown ? " or " : ", ") + near[i];
    }
    return text + (shown > 0 ? "?" : "");
}

} // namespace tessera

#include "tessera/base/end_header.inl"
