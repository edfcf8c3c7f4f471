// SPDX-License-Identifier: Apache-2.0
// What a store keeps between steps as plain numbers of whole tensors, whatever shards, slices, formats and devices hold
// them: what files hold.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/copy_box.hpp"
#include "tessera/execute/local/store.hpp"
#include "tessera/execute/ranks/hash_of_bytes.hpp"
#include "tessera/execute/ranks/processes.hpp"

#include <algorithm>
#include <span>

namespace tessera::detail {

/// One region of a parameter, or of a number that the optimizer keeps for each of its elements: who holds which slice
/// of it.
struct stored_region {
    tile form;                                                     ///< how its elements lie: those of the parameter
    int slices = 1;                                                ///< that the entries hold
    std::vector<std::vector<const parameter_store::entry*>> slice; ///< every copy of each slice

    index_t elements() const; ///< with a format's padding
};

/// The regions of a parameter (tile_kind::parameter), or of its optimizer state.
std::vector<stored_region> regions_of(const parameter_store& store, tile_kind kind, int parameter);

/// `count` numbers of memory as they lie.
tile raw_tile(const tile& like, index_t count);

/// Those of a parameter (`state` -1), or of a number that the optimizer keeps for each of its elements.
std::vector<stored_region> regions_of(const parameter_store& store, int parameter, int state);

/// A parameter whole (`state` -1), or number `state` of what the optimizer keeps for each of its elements: in row-major
/// order. Of copies, which are equal between runs, the first.
template <class B>
std::vector<float> stored_values(B& backend, const parameter_store& store, int parameter, int state,
                                 const shape& extents) {
    std::vector<float> out(to_size(extents.volume()), 0.0F);
    for (const stored_region& r : regions_of(store, parameter, state)) {
        std::vector<float> raw(to_size(r.elements()), 0.0F);
        for (std::size_t s = 0; s < r.slice.size(); ++s) {
            if (r.slice[s].empty()) {
                continue;
            }
            const parameter_store::entry& e = *r.slice[s][0];
            const interval part = even_part(r.elements(), r.slices, static_cast<int>(s));
            const index_t first = state < 0 ? 0 : state * part.size();
            backend.to_plain(raw_tile(e.what, part.size()),
                             store.address(e) + first * static_cast<index_t>(sizeof(float)), raw.data() + part.begin);
        }
        std::vector<float> plain;
        if (r.form.format == 0) {
            plain.swap(raw);
        } else {
            plain.resize(to_size(r.form.region.volume()));
            backend.to_plain(r.form, reinterpret_cast<const std::byte*>(raw.data()), plain.data());
        }
        box_copy(r.form.region, r.form.region, whole(extents)).apply(plain.data(), out.data(), true, reducer::sum);
    }
    return out;
}

/// Brings what stored_values() reads of parameters and states (or of parameter `only` alone, if it is not negative) to
/// all nodes; all processes of the group call it. On one node, and without a group, it does nothing. Bytes: all of it,
/// to every node that does not have it.
void bring_to_all_nodes(const parameter_store& store, process_group* group, int only = -1);

/// Refuses another number of values than a parameter has.
void require_count(const std::string& name, const shape& extents, std::span<const float> values);

/// Sets what stored_values() finds, in every copy; each process of a group (or null) sets those of its own devices,
/// when all have come and until all have, and one of each node those of the devices of other nodes there. Throws
/// tessera::error for another number of elements, and group_error where processes give other values, of which `name`
/// says what they are of.
template <class B>
void store_values(B& backend, const parameter_store& store, int parameter, int state, const shape& extents,
                  std::span<const float> values, process_group* group = nullptr,
                  function_ref<std::string()> name = {}) {
    const auto called = [&] { return name ? name() : "parameter " + std::to_string(parameter); };
    require_count(called(), extents, values);
    if (group != nullptr) {
        const std::uint64_t hash = hash_of_bytes(values.data(), values.size_bytes());
        group->compare(barrier_point::set_parameter, hash, [&] {
            field_lines all;
            all.add(called() + ".values", hexadecimal_text(hash));
            return all.text();
        });
    }
    for (const stored_region& r : regions_of(store, parameter, state)) {
        std::vector<float> plain(to_size(r.form.region.volume()));
        box_copy(r.form.region, whole(extents), r.form.region).apply(values.data(), plain.data(), true, reducer::sum);
        std::vector<float> raw;
        if (r.form.format == 0) {
            raw.swap(plain);
        } else {
            raw.resize(to_size(r.elements()), 0.0F);
            backend.from_plain(r.form, plain.data(), reinterpret_cast<std::byte*>(raw.data()));
        }
        for (std::size_t s = 0; s < r.slice.size(); ++s) {
            const interval part = even_part(r.elements(), r.slices, static_cast<int>(s));
            const index_t first = state < 0 ? 0 : state * part.size();
            for (const parameter_store::entry* e : r.slice[s]) {
                if (group != nullptr && !group->writes_for(e->what.device)) {
                    continue;
                }
                backend.from_plain(raw_tile(e->what, part.size()), raw.data() + part.begin,
                                   store.address(*e) + first * static_cast<index_t>(sizeof(float)));
            }
        }
    }
    if (group != nullptr) {
        group->barrier(barrier_point::set_parameter);
    }
}

} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/stored_values.inl"
#endif

#include "tessera/base/end_header.inl"
