// SPDX-License-Identifier: Apache-2.0
// Bodies of checkpoint_layout.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/checkpoint_layout.hpp"

#include "tessera/base/stable_sort.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::vector<std::pair<box, std::vector<state_piece>>> boxes_of(std::vector<state_piece> pieces) {
    std::vector<std::pair<box, std::vector<state_piece>>> all;
    tessera::detail::stable_sort(pieces, [](const state_piece& a, const state_piece& b) {
        return std::pair(a.number, a.elements.begin) < std::pair(b.number, b.elements.begin);
    });
    for (std::size_t i = 0; i < pieces.size();) { // slices of one region that follow each other
        interval elements = pieces[i].elements;
        std::vector<state_piece> of;
        const std::size_t first = i;
        for (; i < pieces.size() && pieces[i].number == pieces[first].number &&
               (i == first || pieces[i].elements.begin == elements.end);
             ++i) {
            elements.end = pieces[i].elements.end;
            of.push_back(pieces[i]);
        }
        tessera::detail::for_each_box(pieces[first].region, elements,
                                      [&](const box& b, index_t) { all.emplace_back(b, of); });
    }
    const auto joined = [](const box& a, const box& b) -> std::optional<box> {
        box both = a;
        int differ = 0;
        for (int d = 0; d < a.rank; ++d) {
            if (!(a.dim[d] == b.dim[d])) {
                ++differ;
                if (a.dim[d].end != b.dim[d].begin && b.dim[d].end != a.dim[d].begin) {
                    return {};
                }
                both.dim[d] = {std::min(a.dim[d].begin, b.dim[d].begin), std::max(a.dim[d].end, b.dim[d].end)};
            }
        }
        return differ == 1 ? std::optional(both) : std::nullopt;
    };
    for (bool found = true; found;) {
        found = false;
        for (std::size_t i = 0; i < all.size() && !found; ++i) {
            for (std::size_t k = i + 1; k < all.size() && !found; ++k) {
                if (const auto both = joined(all[i].first, all[k].first)) {
                    all[i].first = *both;
                    all[i].second.insert(all[i].second.end(), all[k].second.begin(), all[k].second.end());
                    all.erase(all.begin() + static_cast<std::ptrdiff_t>(k));
                    found = true;
                }
            }
        }
    }
    return all;
}

TESSERA_INLINE bool checkpoint_layout::gathers() const {
    return std::any_of(chunks_.begin(), chunks_.end(), [](const checkpoint_chunk& c) {
        return c.residual_of < 0 && (c.pieces.empty() || std::any_of(c.pieces.begin(), c.pieces.end(),
                                                                     [](const state_piece& p) { return p.gathered; }));
    });
}

TESSERA_INLINE std::string checkpoint_layout::name(int file) const {
    if (files() == 1) {
        return "model.safetensors";
    }
    char text[64];
    std::snprintf(text, sizeof text, "model-%05d-of-%05d.safetensors", file + 1, files());
    return text;
}

TESSERA_INLINE void checkpoint_layout::add(int p, int state, const box& all, std::vector<state_piece> pieces,
                                           const process_group* group) {
    // Of regions that overlap the larger one is enough.
    tessera::detail::stable_sort(
        pieces, [](const state_piece& a, const state_piece& b) { return a.elements.size() > b.elements.size(); });
    std::vector<state_piece> needed;
    index_t elements = 0;
    for (state_piece& piece : pieces) {
        const bool covered = std::any_of(needed.begin(), needed.end(), [&](const state_piece& n) {
            return n.number != piece.number && n.elements.size() == n.region.volume() &&
                   n.region.contains(piece.region);
        });
        if (!covered) {
            elements += piece.elements.size();
            needed.push_back(std::move(piece));
        }
    }
    std::vector<char> common(load_.size(), 1); // who holds all
    std::vector<std::vector<char>> holds;
    if (elements != all.volume()) { // they overlap in parts
        needed.clear();
    }
    for (const state_piece& piece : needed) {
        std::vector<char> who(load_.size(), 0);
        for (const int d : piece.devices) {
            who[group == nullptr ? 0 : to_size(group->owner(d))] = 1;
        }
        for (std::size_t r = 0; r < who.size(); ++r) {
            common[r] = common[r] != 0 && who[r] != 0 ? 1 : 0;
        }
        holds.push_back(std::move(who));
    }
    if (std::count(common.begin(), common.end(), 1) > 0) {
        const int writer = least_of(common);
        load_[to_size(writer)] += all.volume();
        places_.emplace_back(checkpoint_chunk{p, state, all, 0, -1, std::move(needed)}, place(writer, 0));
        return;
    }
    std::map<int, std::vector<state_piece>> of;
    for (std::size_t i = 0; i < needed.size(); ++i) {
        const int writer = least_of(holds[i]);
        load_[to_size(writer)] += needed[i].elements.size();
        of[writer].push_back(std::move(needed[i]));
    }
    for (auto& [writer, mine] : of) {
        int file = 0; // a file has one box of a tensor
        for (auto& [where, from] : boxes_of(std::move(mine))) {
            places_.emplace_back(checkpoint_chunk{p, state, where, 0, -1, std::move(from)}, place(writer, file++));
        }
    }
}

TESSERA_INLINE int checkpoint_layout::least_of(const std::vector<char>& holders) const {
    int least = -1;
    for (std::size_t r = 0; r < holders.size(); ++r) {
        if (holders[r] != 0 && (least < 0 || load_[r] < load_[to_size(least)])) {
            least = static_cast<int>(r);
        }
    }
    return least;
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
