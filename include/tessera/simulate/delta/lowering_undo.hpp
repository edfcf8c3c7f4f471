// SPDX-License-Identifier: Apache-2.0
// How a change of a few fragments of a lowering is undone.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/touched_fragments.hpp"

namespace tessera::simulation {

/// What a change of some operators can change, as it was before.
struct lowering_undo {
    struct tensor {
        int which = 0;
        lowering::located values;
        lowering::gathered_list gathered_values;
        lowering::located gradients;
        lowering::gathered_list gathered_gradients;
    };
    struct parameter {
        int which = 0;
        lowering::located copies;
        lowering::located gradients;
    };
    std::vector<std::pair<int, configuration>> ops; ///< that have changed, with what they had before
    std::size_t pool = 0;
    std::vector<std::vector<shard>> shards; ///< of these
    std::vector<tensor> tensors;
    std::vector<parameter> parameters;
    std::vector<int> tensor_places;    ///< by tensor: where it is among these, or -1
    std::vector<int> parameter_places; ///< by parameter
    std::vector<fragment> fragments;   ///< the touched ones
    std::vector<std::pair<std::size_t, std::vector<lowering::intermediate_state>>> intermediates;
    std::size_t intermediate_count = 0;
    std::vector<std::pair<int, int>> aliases; ///< tiles that shared another one's memory, and whose
    std::size_t tiles = 0;
    index_t moved_bytes = 0;

    const tensor& of_tensor(int t) const { return tensors[to_size(tensor_places[to_size(t)])]; }
    const parameter& of_parameter(int p) const { return parameters[to_size(parameter_places[to_size(p)])]; }
};

/// Notes what there is before a change, and takes the touched fragments' tasks out.
lowering_undo remember(lowered_fragments& x, const touched_fragments& touched, const std::vector<change>& changes);

/// Returns to what was before remember().
void restore(lowered_fragments& x, const touched_fragments& touched, lowering_undo&& undo);

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/delta/lowering_undo.inl"
#endif

#include "tessera/base/end_header.inl"
