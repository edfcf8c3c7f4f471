// SPDX-License-Identifier: Apache-2.0
// Bodies of step_identity.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/ranks/step_identity.hpp"

namespace tessera::detail {

TESSERA_INLINE std::uint64_t hash_of_some(const void* data, index_t elements) {
    std::uint32_t some[most_numbers_looked_at + 1] = {};
    const index_t count = elements < most_numbers_looked_at ? elements : most_numbers_looked_at;
    const auto* const numbers = static_cast<const std::byte*>(data);
    for (index_t i = 0; i < count; ++i) { // spread over all of them, and not of one column
        const index_t from = elements * i / count + i * 7 % ((elements + count - 1) / count);
        std::memcpy(&some[i], numbers + (from < elements ? from : elements - 1) * 4, 4);
    }
    some[count] = static_cast<std::uint32_t>(elements);
    return hash_of_bytes(some, to_size(count + 1) * 4);
}

TESSERA_INLINE void add_batch(step_identity& to, const graph_view& g, std::span<const input_data> inputs) {
    std::size_t k = 0;
    for (int t = 0; t < g.tensor_count && k < inputs.size(); ++t) {
        if (g.tensors[t].producer >= 0) {
            continue;
        }
        const input_data& x = inputs[k++];
        if (g.tensors[t].type == element::i32 || holds_labels(g, t)) {
            to.labels = op::mix(to.labels ^ hash_of_bytes(x.data, to_size(x.elements) * 4));
        } else {
            to.inputs = op::mix(to.inputs ^ hash_of_some(x.data, x.elements));
        }
    }
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
