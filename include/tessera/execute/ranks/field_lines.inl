// SPDX-License-Identifier: Apache-2.0
// Bodies of field_lines.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/ranks/field_lines.hpp"

namespace tessera::detail {

TESSERA_INLINE std::string hexadecimal_text(std::uint64_t x) {
    char text[20] = "0x";
    return {text, std::to_chars(text + 2, text + sizeof text, x, 16).ptr};
}

TESSERA_INLINE std::string in_one_line(std::string_view text) {
    std::string plain(text);
    for (char& c : plain) {
        c = static_cast<unsigned char>(c) < ' ' ? '?' : c;
    }
    return plain;
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE std::uint64_t field_lines::hash() const {
    std::uint64_t h = 0x243f6a8885a308d3ULL;
    for (const field_line& l : all_) {
        h = op::mix(h ^ detail::hash_text(l.name));
        h = op::mix(h ^ detail::hash_text(l.value));
    }
    return op::mix(h ^ all_.size());
}

TESSERA_INLINE std::string field_lines::text() const {
    std::string all;
    for (const field_line& l : all_) {
        all += l.name + "\t" + l.value + "\n";
    }
    return all;
}

TESSERA_INLINE field_lines field_lines::from_text(std::string_view text) {
    field_lines lines;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        const std::size_t tab = line.find('\t');
        if (tab != std::string_view::npos) {
            lines.all_.push_back({std::string(line.substr(0, tab)), std::string(line.substr(tab + 1))});
        }
        text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
    }
    return lines;
}

} // namespace tessera

namespace tessera::detail {

TESSERA_INLINE std::string shown_from(const std::string& text, std::size_t from) {
    constexpr std::size_t longest = 60;
    const std::string rest = text.substr(from < text.size() ? from : text.size());
    return text.empty() ? "nothing"
                        : (from > 0 ? "..." : "") + (rest.size() > longest ? rest.substr(0, longest) + "..." : rest);
}

TESSERA_INLINE std::size_t first_shown(const std::string& a, const std::string& b) {
    std::size_t same = 0;
    while (same < a.size() && same < b.size() && a[same] == b[same]) {
        ++same;
    }
    return same < 40 ? 0 : same - 10;
}

TESSERA_INLINE std::size_t place_of_line(const std::vector<field_line>& all, const std::string& name,
                                         std::size_t from) {
    while (from < all.size() && all[from].name != name) {
        ++from;
    }
    return from;
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE std::string difference_of(const owner_of_lines& a, const owner_of_lines& b, int most) {
    std::string words;
    int found = 0;
    const auto tell = [&](const std::string& what) {
        words += found < most ? (found > 0 ? "; " : "") + what : std::string(found == most ? "; and more" : "");
        ++found;
    };
    std::string last; // of what one has alone the first field is enough
    const auto has_alone = [&](const field_line& l, const owner_of_lines& who, const owner_of_lines& other) {
        const std::string of = std::string(who.name) + l.name.substr(0, l.name.rfind('.'));
        if (of == last) {
            return;
        }
        last = of;
        tell(l.name + " is " + detail::shown_from(l.value, 0) + " on " + std::string(who.name) +
             " and is not there on " + std::string(other.name));
    };
    const std::vector<field_line>& mine = a.has.all();
    const std::vector<field_line>& theirs = b.has.all();
    std::size_t i = 0;
    std::size_t k = 0;
    while ((i < mine.size() || k < theirs.size()) && found <= most) {
        if (i < mine.size() && k < theirs.size() && mine[i].name == theirs[k].name) {
            const std::string& x = mine[i].value;
            const std::string& y = theirs[k].value;
            if (x != y) {
                const std::size_t from = detail::first_shown(x, y);
                tell(mine[i].name + " is " + detail::shown_from(x, from) + " on " + std::string(a.name) + " and " +
                     detail::shown_from(y, from) + " on " + std::string(b.name));
            }
            ++i;
            ++k;
        } else if (k == theirs.size() ||
                   (i < mine.size() && detail::place_of_line(theirs, mine[i].name, k) == theirs.size())) {
            has_alone(mine[i++], a, b);
        } else if (i == mine.size() || detail::place_of_line(mine, theirs[k].name, i) == mine.size()) {
            has_alone(theirs[k++], b, a);
        } else {
            tell("after as many equal fields comes " + mine[i].name + " on " + std::string(a.name) + " and " +
                 theirs[k].name + " on " + std::string(b.name));
            break; // all that follows is in another order
        }
    }
    return words;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
