// SPDX-License-Identifier: Apache-2.0
// Bodies of tile_names.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/tile_names.hpp"

namespace tessera::simulation {

TESSERA_INLINE void tile_names::begin_change(const lowering::plan_writer& out) {
    names.clear();
    first = out.p.tiles.size();
}

TESSERA_INLINE void tile_names::begin_fragment(const lowering::plan_writer& out) {
    aliased.clear();
    first_new = out.p.tiles.size();
}

TESSERA_INLINE void tile_names::take_over(int fresh, int old, lowering::plan_writer& out, lowering_undo& undo) {
    for (std::size_t i = names.size(); i <= to_size(fresh) - first; ++i) {
        names.push_back(static_cast<int>(first + i));
    }
    names[to_size(fresh) - first] = old;
    if (out[old].alias != out[fresh].alias) {
        undo.aliases.push_back({old, out[old].alias});
        out[old].alias = out[fresh].alias;
        aliased.push_back(old);
    }
}

TESSERA_INLINE void apply(const tile_names& name, lowering::gathered_list& all) {
    for (lowering::gathered_tile& x : all) {
        x.tile = name(x.tile);
    }
}

TESSERA_INLINE void apply(const tile_names& name, lowering::intermediate_pieces& m) {
    for (piece& x : m.made.pieces) {
        x.tile = name(x.tile);
    }
    apply(name, m.slices);
    apply(name, m.gathered);
}

TESSERA_INLINE void apply(const tile_names& name, task& t) {
    for_each_tile(t, [&](int& tile, const plan_field&) { tile = tile >= 0 ? name(tile) : -1; });
}

TESSERA_INLINE void apply(const tile_names& name, lowered_fragments& x, int f) {
    for (task& t : x.fragments[to_size(f)].tasks) {
        apply(name, t);
    }
    const auto rename_alias = [&](int t) { x.out[t].alias = x.out[t].alias >= 0 ? name(x.out[t].alias) : -1; };
    for (int t : name.aliased) {
        rename_alias(t);
    }
    for (int t = static_cast<int>(name.first_new); t < x.out.tile_count(); ++t) {
        rename_alias(t);
    }
    for (auto& [key, states] : x.batch().intermediates) {
        for (std::size_t i = 0; i < states.size() && key / max_operands == x.operator_of(f); ++i) {
            apply(name, states[i].values);
            apply(name, states[i].gradients);
        }
    }
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
