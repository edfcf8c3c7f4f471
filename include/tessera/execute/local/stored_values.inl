// SPDX-License-Identifier: Apache-2.0
// Bodies of stored_values.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/stored_values.hpp"

namespace tessera::detail {

TESSERA_INLINE index_t stored_region::elements() const {
    return form.slices > 1 ? form.region.volume() : form.elements;
}

TESSERA_INLINE std::vector<stored_region> regions_of(const parameter_store& store, tile_kind kind, int parameter) {
    std::vector<stored_region> all;
    for (const parameter_store::entry& e : store.entries()) {
        if (e.what.kind != kind || e.what.tensor != parameter) {
            continue;
        }
        stored_region* mine = nullptr;
        for (stored_region& r : all) {
            mine = r.form.region == e.what.region && r.slices == e.what.slices ? &r : mine;
        }
        if (mine == nullptr) {
            all.push_back({e.what, e.what.slices, {}});
            mine = &all.back();
            mine->slice.resize(to_size(e.what.slices));
            for (const parameter_store::entry& p : store.entries()) {
                if (p.what.kind == tile_kind::parameter && p.what.tensor == parameter && !p.what.on_host &&
                    p.what.region == e.what.region) {
                    mine->form = p.what;
                }
            }
        }
        mine->slice[to_size(e.what.slice)].push_back(&e);
    }
    return all;
}

TESSERA_INLINE tile raw_tile(const tile& like, index_t count) {
    tile t;
    t.kind = like.kind;
    t.device = like.device;
    t.elements = count;
    t.slices = 2; // that many elements, whatever the region
    return t;
}

TESSERA_INLINE std::vector<stored_region> regions_of(const parameter_store& store, int parameter, int state) {
    return regions_of(store, state < 0 ? tile_kind::parameter : tile_kind::optimizer_state, parameter);
}

TESSERA_INLINE void bring_to_all_nodes(const parameter_store& store, process_group* group, int only) {
    if (group == nullptr || group->nodes() == 1) {
        return;
    }
    std::vector<remote_write> writes;
    for (const parameter_store::entry& e : store.entries()) {
        const bool is_wanted = only < 0 || (e.what.kind == tile_kind::parameter && e.what.tensor == only);
        for (int node = 0; node < group->nodes() && is_wanted && group->owns(e.what.device); ++node) {
            const std::byte* const from = store.address(e);
            for (index_t at = 0; at < e.what.bytes && node != group->node(); at += remote_write::longest) {
                writes.emplace_back();
                writes.back().node = node;
                writes.back().add(from, group->place_of(from), at, std::min(at + remote_write::longest, e.what.bytes));
            }
        }
    }
    for (const remote_write& l : writes) {
        group->post(l, 0, nullptr);
    }
    group->barrier(barrier_point::share_parameters);
}

TESSERA_INLINE void require_count(const std::string& name, const shape& extents, std::span<const float> values) {
    if (static_cast<index_t>(values.size()) != extents.volume()) {
        std::string text = "tessera: " + name + " is given " + std::to_string(values.size()) + " elements, " +
                           std::to_string(extents.volume()) + " expected: its shape is [";
        for (int d = 0; d < extents.rank; ++d) {
            text += (d > 0 ? ", " : "") + std::to_string(extents[d]);
        }
        throw error(text + "]");
    }
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
