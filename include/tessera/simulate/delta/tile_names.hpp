// SPDX-License-Identifier: Apache-2.0
// Numbers of tiles when fragments are made again: a new tile that stands for the same as an old one takes its number,
// so that what stays need not change.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/lowering_undo.hpp"

namespace tessera::simulation {

/// For every tile made since a change: the number that it has taken over, or its own.
struct tile_names {
    std::vector<int> names;
    std::size_t first = 0;     ///< tile made since the change
    std::size_t first_new = 0; ///< tile of the fragment that is being made
    std::vector<int> aliased;  ///< old tiles that share another one's memory than before, since the fragment was begun

    int operator()(int t) const {
        return to_size(t) < first || to_size(t) - first >= names.size() ? t : names[to_size(t) - first];
    }
    bool is_new(int t) const { return to_size(t) >= first_new; }

    void begin_change(const lowering::plan_writer& out);
    void begin_fragment(const lowering::plan_writer& out);

    /// Gives an old tile's number to a new one.
    void take_over(int fresh, int old, lowering::plan_writer& out, lowering_undo& undo);
};

/// Rewrites the numbers in a list of what was gathered, in pieces, and in a task.
void apply(const tile_names& name, lowering::gathered_list& all);
void apply(const tile_names& name, lowering::intermediate_pieces& m);
void apply(const tile_names& name, task& t);

/// Rewrites them in a fragment that has been made again, and in what its operator leaves there.
void apply(const tile_names& name, lowered_fragments& x, int f);

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/delta/tile_names.inl"
#endif

#include "tessera/base/end_header.inl"
