// SPDX-License-Identifier: Apache-2.0
// Bodies of rounded.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/rounded.hpp"

namespace tessera::reference {

TESSERA_INLINE bool rounds_parameters(const op_attributes& a) {
    return a.math == precision::bf16 && rounds_parameters(record_of(a));
}

TESSERA_INLINE void rounded_operands::add(tile_view& view, bool is_stored, bool writes) {
    operands_.push_back({view.data, std::vector<float>(to_size(view.region.volume())), is_stored, writes});
    view.data = operands_.back().numbers.data();
}

TESSERA_INLINE void rounded_operands::load() {
    for (one& x : operands_) {
        const auto count = static_cast<index_t>(x.numbers.size());
        if (x.is_stored && !x.writes) {
            numbers_of(element::bf16, static_cast<const std::byte*>(x.memory), count, x.numbers.data());
        } else if (!x.writes) {
            for (std::size_t i = 0; i < x.numbers.size(); ++i) {
                x.numbers[i] = round_to_bf16(static_cast<const float*>(x.memory)[i]);
            }
        }
    }
}

TESSERA_INLINE void rounded_operands::store() {
    for (one& x : operands_) {
        if (x.writes) {
            store_numbers(element::bf16, x.numbers.data(), static_cast<index_t>(x.numbers.size()),
                          static_cast<std::byte*>(x.memory));
        }
    }
}

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
