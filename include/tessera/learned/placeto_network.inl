// SPDX-License-Identifier: Apache-2.0
// Bodies of placeto_network.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/placeto_network.hpp"

namespace tessera::learned {

TESSERA_INLINE std::vector<input_data> inputs_of(const graph_batch& b) {
    const auto numbers = [](const std::vector<float>& x) { return input_data(std::span<const float>(x)); };
    const auto integers = [](const std::vector<std::int32_t>& x) {
        return input_data(std::span<const std::int32_t>(x));
    };
    return {numbers(b.features),  numbers(b.has_parents), numbers(b.has_children), integers(b.from),
            integers(b.to),       integers(b.into),       integers(b.back),        integers(b.current),
            numbers(b.ancestors), numbers(b.descendants), numbers(b.others)};
}

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
