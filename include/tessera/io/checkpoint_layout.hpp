// SPDX-License-Identifier: Apache-2.0
// Who writes what of a checkpoint: every tensor whole where one process has all of it, else as boxes, each by a process that holds it. All processes
// find the same.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/kept_pieces.hpp"
#include "tessera/execute/residuals.hpp"
#include "tessera/io/checkpoint_writers.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::io::detail {

/// A box of a parameter, or of a number that the optimizer keeps for it, or a residual, in one file.
struct checkpoint_chunk {
    int parameter = 0;
    int state = -1;
    box where;
    int file = 0;
    int residual_of = -1; ///< the device that has left it out; -1: it is no residual
    std::vector<kept_piece>
        pieces{}; ///< of which it is made; none: of parts of what several operators keep, found by kept()
};

/// Makes boxes of pieces that one process holds: as few as it finds.
inline std::vector<std::pair<box, std::vector<kept_piece>>> boxes_of(std::vector<kept_piece> pieces) {
    std::vector<std::pair<box, std::vector<kept_piece>>> all;
    std::stable_sort(pieces.begin(), pieces.end(), [](const kept_piece& a, const kept_piece& b) {
        return std::pair(a.number, a.elements.begin) < std::pair(b.number, b.elements.begin);
    });
    for (std::size_t i = 0; i < pieces.size();) { // slices of one region that follow each other
        interval elements = pieces[i].elements;
        std::vector<kept_piece> of;
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

class checkpoint_layout {
public:
    /// Each box goes to whoever of those that hold it has the fewest elements so far.
    template <class Session>
    explicit checkpoint_layout(const Session& s) {
        const process_group* const group = processes_of(s);
        load_.assign(group == nullptr ? 1 : static_cast<std::size_t>(group->size()), 0);
        std::map<std::pair<int, int>, int> numbers; // of (process, how-manieth of its files)
        const graph_view g = s.graph_of();
        for (int p = 0; p < g.parameter_count; ++p) {
            for (int state = -1; state < s.update().state_count(); ++state) {
                if (s.keeps(p, state)) {
                    add(p, state, whole(g.parameters[p].extents), s.kept_pieces(p, state), group);
                }
            }
        }
        for (const kept_residual& r : s.residuals()) {
            const int writer = group == nullptr ? 0 : group->owner(r.device);
            places_.emplace_back(checkpoint_chunk{r.parameter, -1, r.region, 0, r.device, {}}, place(writer, 0));
        }
        for (const auto& [chunk, at] : places_) {
            numbers[at] = 0;
        }
        numbers[{0, 0}] = 0; // a network without parameters has a file, too
        for (auto& [at, number] : numbers) {
            number = static_cast<int>(writers_.size());
            writers_.push_back(at.first);
        }
        for (auto& [chunk, at] : places_) {
            chunk.file = numbers[at];
            chunks_.push_back(static_cast<checkpoint_chunk&&>(chunk));
        }
        places_.clear();
    }

    const std::vector<checkpoint_chunk>& chunks() const { return chunks_; }
    /// True where a process writes what others hold: they must bring it to its node.
    bool gathers() const {
        return std::any_of(chunks_.begin(), chunks_.end(), [](const checkpoint_chunk& c) {
            return c.residual_of < 0 &&
                   (c.pieces.empty() ||
                    std::any_of(c.pieces.begin(), c.pieces.end(), [](const kept_piece& p) { return p.gathered; }));
        });
    }
    int files() const { return static_cast<int>(writers_.size()); }
    int writer(int file) const { return writers_[static_cast<std::size_t>(file)]; }
    std::string name(int file) const {
        if (files() == 1) {
            return "model.safetensors";
        }
        char text[64];
        std::snprintf(text, sizeof text, "model-%05d-of-%05d.safetensors", file + 1, files());
        return text;
    }

private:
    using place = std::pair<int, int>;

    void add(int p, int state, const box& all, std::vector<kept_piece> pieces, const process_group* group) {
        // Of regions that overlap the larger one is enough.
        std::stable_sort(pieces.begin(), pieces.end(), [](const kept_piece& a, const kept_piece& b) {
            return a.elements.size() > b.elements.size();
        });
        std::vector<kept_piece> needed;
        index_t elements = 0;
        for (kept_piece& piece : pieces) {
            const bool covered = std::any_of(needed.begin(), needed.end(), [&](const kept_piece& n) {
                return n.number != piece.number && n.elements.size() == n.region.volume() &&
                       n.region.contains(piece.region);
            });
            if (!covered) {
                elements += piece.elements.size();
                needed.push_back(static_cast<kept_piece&&>(piece));
            }
        }
        std::vector<char> common(load_.size(), 1); // who holds all
        std::vector<std::vector<char>> holds;
        if (elements != all.volume()) { // they overlap in parts
            needed.clear();
        }
        for (const kept_piece& piece : needed) {
            std::vector<char> who(load_.size(), 0);
            for (const int d : piece.devices) {
                who[group == nullptr ? 0 : static_cast<std::size_t>(group->owner(d))] = 1;
            }
            for (std::size_t r = 0; r < who.size(); ++r) {
                common[r] = common[r] != 0 && who[r] != 0 ? 1 : 0;
            }
            holds.push_back(static_cast<std::vector<char>&&>(who));
        }
        if (std::count(common.begin(), common.end(), 1) > 0) {
            const int writer = least_of(common);
            load_[static_cast<std::size_t>(writer)] += all.volume();
            places_.emplace_back(checkpoint_chunk{p, state, all, 0, -1, static_cast<std::vector<kept_piece>&&>(needed)},
                                 place(writer, 0));
            return;
        }
        std::map<int, std::vector<kept_piece>> of;
        for (std::size_t i = 0; i < needed.size(); ++i) {
            const int writer = least_of(holds[i]);
            load_[static_cast<std::size_t>(writer)] += needed[i].elements.size();
            of[writer].push_back(static_cast<kept_piece&&>(needed[i]));
        }
        for (auto& [writer, mine] : of) {
            int file = 0; // a file has one box of a tensor
            for (auto& [where, from] : boxes_of(static_cast<std::vector<kept_piece>&&>(mine))) {
                places_.emplace_back(
                    checkpoint_chunk{p, state, where, 0, -1, static_cast<std::vector<kept_piece>&&>(from)},
                    place(writer, file++));
            }
        }
    }

    int least_of(const std::vector<char>& holders) const {
        int least = -1;
        for (std::size_t r = 0; r < holders.size(); ++r) {
            if (holders[r] != 0 && (least < 0 || load_[r] < load_[static_cast<std::size_t>(least)])) {
                least = static_cast<int>(r);
            }
        }
        return least;
    }

    std::vector<index_t> load_; ///< elements of each process
    std::vector<std::pair<checkpoint_chunk, place>> places_;
    std::vector<checkpoint_chunk> chunks_;
    std::vector<int> writers_; ///< of each file
};

/// The numbers of a chunk, row-major.
template <class Session>
void copy_chunk(const Session& s, const checkpoint_chunk& c, float* to) {
    if (c.residual_of >= 0) {
        s.copy_residual({c.parameter, c.residual_of, c.where}, to);
        return;
    }
    for (const kept_piece& piece : c.pieces) {
        s.copy_kept(c.parameter, c.state, piece, c.where, to);
    }
    if (c.pieces.empty()) {
        const std::vector<float> all = s.kept(c.parameter, c.state);
        std::copy(all.begin(), all.end(), to);
    }
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
