// SPDX-License-Identifier: Apache-2.0
// Convolutions whose windows leave out the last rows or columns (stride 2 with a window of 1) read and write the whole
// tile: what would cut the region that they touch out of it, and what would put its gradient into a cleared one, is not
// copied. Decided on the plan, when it is bound.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/table.hpp"
#include "tessera/op/analysis.hpp"
#include "tessera/plan/plan.hpp"

#include <algorithm>

namespace tessera::cuda::detail {

class whole_tiles {
public:
    whole_tiles(plan& p, const graph_view& g) : p_(p), g_(g) {}

    void run();

private:
    void find_users();

    /// Samples and channels are the same; planes, rows and columns may be more.
    static bool is_within(const box& part, const box& whole);
    /// A convolution's task that has `tile` as its input's value, or gradient, alone, and may have `whole` in its
    /// place.
    bool may_have(int number, bool value, int tile, const box& whole) const;

    /// A copy of a part of a tile, on its device, that convolutions alone read: they take the tile.
    bool take_from_whole(const task& t);

    /// Gradients that convolutions alone make, for parts of the tile in which they are put together: whole ones. True
    /// where there are such.
    bool put_into_whole(task& t);

    /// A copy of nothing but a whole tile that nobody else reads: whoever reads the copy takes the tile.
    bool is_renamed(const task& t);

    plan& p_;
    const graph_view g_;
    std::vector<std::vector<int>> readers_; ///< tasks, of every tile; -1: by another name of the tile
    std::vector<std::vector<int>> writers_;
};

} // namespace tessera::cuda::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/calls/contain.inl"
#endif

#include "tessera/base/end_header.inl"
