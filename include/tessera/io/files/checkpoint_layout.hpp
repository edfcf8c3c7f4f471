// SPDX-License-Identifier: Apache-2.0
// Who writes what of a checkpoint: every tensor whole where one process has all of it, else as boxes, each by a process
// that holds it. All processes find the same.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/residuals.hpp"
#include "tessera/execute/local/state_pieces.hpp"
#include "tessera/io/files/checkpoint_writers.hpp"

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
    std::vector<state_piece>
        pieces{}; ///< of which it is made; none: of parts of what several operators keep, found by kept()
};

/// Makes boxes of pieces that one process holds: as few as it finds.
std::vector<std::pair<box, std::vector<state_piece>>> boxes_of(std::vector<state_piece> pieces);

class checkpoint_layout {
public:
    /// Each box goes to whoever of those that hold it has the fewest elements so far.
    template <class Session>
    explicit checkpoint_layout(const Session& s) {
        const process_group* const group = processes_of(s);
        load_.assign(group == nullptr ? 1 : to_size(group->size()), 0);
        std::map<std::pair<int, int>, int> numbers; // of (process, how-manieth of its files)
        const graph_view g = s.graph_of();
        for (int p = 0; p < g.parameter_count; ++p) {
            for (int state = -1; state < s.update().state_count(); ++state) {
                if (s.keeps(p, state)) {
                    add(p, state, whole(g.parameters[p].extents), s.state_pieces(p, state), group);
                }
            }
        }
        for (const residual_key& r : s.residuals()) {
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
            chunks_.push_back(std::move(chunk));
        }
        places_.clear();
    }

    const std::vector<checkpoint_chunk>& chunks() const { return chunks_; }
    /// True where a process writes what others hold: they must bring it to its node.
    bool gathers() const;
    int files() const { return static_cast<int>(writers_.size()); }
    int writer(int file) const { return writers_[to_size(file)]; }
    std::string name(int file) const;

private:
    using place = std::pair<int, int>;

    void add(int p, int state, const box& all, std::vector<state_piece> pieces, const process_group* group);

    int least_of(const std::vector<char>& holders) const;

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
    for (const state_piece& piece : c.pieces) {
        s.copy_state(c.parameter, c.state, piece, c.where, to);
    }
    if (c.pieces.empty()) {
        const std::vector<float> all = s.state_of(c.parameter, c.state);
        std::copy(all.begin(), all.end(), to);
    }
}

} // namespace tessera::io::detail

#ifndef TESSERA_COMPILED
#include "tessera/io/files/checkpoint_layout.inl"
#endif

#include "tessera/base/end_header.inl"
