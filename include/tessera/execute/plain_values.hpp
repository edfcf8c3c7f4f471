// SPDX-License-Identifier: Apache-2.0
// Parameters and results as plain numbers, whatever shards, slices and formats hold them.
#pragma once

#include "tessera/execute/copy_box.hpp"
#include "tessera/execute/store.hpp"

#include <span>

namespace tessera::detail {

/// Place of a stored slice in its region.
inline index_t first_in_region(const tile& x) { return even_part(x.region.volume(), x.slices, x.slice).begin; }

/// All elements of a parameter.
template <class B>
std::vector<float> stored_parameter(B& backend, const parameter_store& store, int parameter, const shape& extents) {
    std::vector<float> out(static_cast<std::size_t>(extents.volume()));
    const box all = whole(extents);
    for (const parameter_store::entry& e : store.entries()) {
        if (e.what.kind == tile_kind::parameter && e.what.tensor == parameter) {
            std::vector<float> part(static_cast<std::size_t>(e.what.region.volume()));
            if (e.what.slices > 1) { // the other slices stay what they are
                box_copy(e.what.region, all, e.what.region).apply(out.data(), part.data(), true, reducer::sum);
            }
            backend.to_plain(e.what, store.address(e), part.data() + first_in_region(e.what));
            box_copy(e.what.region, e.what.region, all).apply(part.data(), out.data(), true, reducer::sum);
        }
    }
    return out;
}

/// Sets all elements of a parameter, in every copy; throws tessera::error for another number of them.
template <class B>
void store_parameter(B& backend, const parameter_store& store, int parameter, const shape& extents,
                     std::span<const float> values) {
    if (static_cast<index_t>(values.size()) != extents.volume()) {
        throw error("tessera: a parameter of " + std::to_string(extents.volume()) + " numbers is given " +
                    std::to_string(values.size()));
    }
    for (const parameter_store::entry& e : store.entries()) {
        if (e.what.kind == tile_kind::parameter && e.what.tensor == parameter) {
            std::vector<float> part(static_cast<std::size_t>(e.what.region.volume()));
            box_copy(e.what.region, whole(extents), e.what.region)
                .apply(values.data(), part.data(), true, reducer::sum);
            backend.from_plain(e.what, part.data() + first_in_region(e.what), store.address(e));
        }
    }
}

/// Adds up pieces of results; keeps its memory, so that the next time allocates nothing.
class piece_sum {
public:
    /// Adds those of a tensor in a step of the plan, every part and region once, to `out`, which has the region `all`.
    template <class B>
    void add(B& backend, const plan& p, const addresses& memory, const std::vector<result_piece>& pieces, int tensor,
             int step, const box& all, std::vector<float>& out) {
        seen_.clear();
        for (const result_piece& piece : pieces) {
            const tile& t = p.tiles[static_cast<std::size_t>(piece.tile)];
            bool again = piece.tensor != tensor || piece.step != step;
            for (const auto& [part, region] : seen_) {
                again = again || (part == piece.part && region == t.region);
            }
            if (again) {
                continue;
            }
            seen_.push_back({piece.part, t.region});
            piece_.resize(static_cast<std::size_t>(t.region.volume()));
            // The format is that of the tile whose memory it is; behind a flatten that has other dimensions, and the same order of elements.
            const int root = p.root(piece.tile);
            backend.to_plain(p.tiles[static_cast<std::size_t>(root)], memory[root], piece_.data());
            box_copy(t.region, t.region, all).apply(piece_.data(), out.data(), false, reducer::sum);
        }
    }

private:
    std::vector<float> piece_;
    std::vector<std::pair<int, box>> seen_;
};

} // namespace tessera::detail
