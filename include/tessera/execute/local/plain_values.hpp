// SPDX-License-Identifier: Apache-2.0
// Results as plain numbers, whatever shards and formats hold them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/copy_box.hpp"
#include "tessera/execute/local/store.hpp"

namespace tessera::detail {

/// Adds up pieces of results; keeps its memory, so that the next time allocates nothing.
class piece_sum {
public:
    /// Adds those of a tensor in a step of the plan, every part and region once, to `out`, which has the region `all`.
    /// `bring(tiles)`, before they are read, is told in which tiles they lie.
    template <class B, class Bring>
    void add(B& backend, const plan& p, const addresses& memory, const std::vector<result_piece>& pieces, int tensor,
             int step, const box& all, std::vector<float>& out, Bring&& bring) {
        seen_.clear();
        tiles_.clear();
        for (const result_piece& piece : pieces) {
            const tile& t = p.tiles[to_size(piece.tile)];
            bool again = piece.tensor != tensor || piece.step != step;
            for (const auto& [part, region] : seen_) {
                again = again || (part == piece.summand && region == t.region);
            }
            if (again) {
                continue;
            }
            seen_.push_back({piece.summand, t.region});
            tiles_.push_back(piece.tile);
        }
        bring(tiles_);
        for (const int number : tiles_) {
            const tile& t = p.tiles[to_size(number)];
            piece_.resize(to_size(t.region.volume()));
            // The format is that of the tile whose memory it is; behind a flatten that has other dimensions, and the
            // same order of elements.
            const int root = p.root(number);
            backend.to_plain(p.tiles[to_size(root)], memory[root], piece_.data());
            box_copy(t.region, t.region, all).apply(piece_.data(), out.data(), false, reducer::sum);
        }
    }

    template <class B>
    void add(B& backend, const plan& p, const addresses& memory, const std::vector<result_piece>& pieces, int tensor,
             int step, const box& all, std::vector<float>& out) {
        add(backend, p, memory, pieces, tensor, step, all, out, [](const std::vector<int>&) {});
    }

private:
    std::vector<float> piece_;
    std::vector<std::pair<int, box>> seen_;
    std::vector<int> tiles_;
};

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
