// SPDX-License-Identifier: Apache-2.0
// How gradients are made smaller before devices exchange them, as a value, and how many bytes that leaves.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/strategy/described.hpp"

#include <cstdint>

namespace tessera {

/// What a device sends of a gradient. What it leaves out it keeps, and adds to its next gradient (error feedback). The
/// formulas are in task/gradient_codes.hpp. A strategy under any but `none` does not give the numbers of one device.
enum class compression : std::uint8_t {
    none,       ///< the gradient
    eight_bits, ///< a whole number from -127 to 127 for each element, and a scale for each block
    one_bit,    ///< the sign of each element, and two means for each block
    top_k,      ///< the largest elements, with their indices
};

template <>
inline constexpr int value_count<compression> = 4;

constexpr const char* to_text(compression c) {
    constexpr const char* names[] = {"none", "eight_bits", "one_bit", "top_k"};
    return names[static_cast<int>(c)];
}

/// Elements that share a scale, and one of how many is sent, where nobody says otherwise.
inline constexpr int usual_block = 256;
inline constexpr int usual_keep_one_in = 100;

/// A compression with its numbers.
struct compression_setting {
    compression how = compression::none;
    int block = usual_block;             ///< elements that share a scale; top_k has none
    int keep_one_in = usual_keep_one_in; ///< top_k: one of so many elements is sent, at least one
    friend constexpr bool operator==(const compression_setting&, const compression_setting&) = default;

    template <class See>
    static constexpr void each_field(See&& see) {
        see("how", &compression_setting::how, field_facts{});
        see("block", &compression_setting::block, field_facts{});
        see("keep_one_in", &compression_setting::keep_one_in, field_facts{});
    }

    constexpr bool is_on() const { return how != compression::none; }
    constexpr index_t blocks(index_t elements) const { return (elements + block - 1) / block; }
    /// Elements that top_k sends.
    constexpr index_t kept(index_t elements) const { return (elements + keep_one_in - 1) / keep_one_in; }

    /// Working memory of a device that compresses so many elements, in bytes.
    constexpr index_t scratch_bytes(index_t elements) const { return how == compression::top_k ? 4 * elements : 0; }

    /// Words of 4 bytes that a device sends of so many elements of a gradient.
    constexpr index_t words(index_t elements) const {
        switch (how) {
        case compression::eight_bits:
            return blocks(elements) + (elements + 3) / 4;
        case compression::one_bit:
            return 2 * blocks(elements) + (elements + 31) / 32;
        case compression::top_k:
            return 2 * kept(elements);
        case compression::none:
            break;
        }
        return elements;
    }
};

/// top_k says indices in 32 bits.
inline constexpr index_t most_indexed_elements = index_t{1} << 32;

} // namespace tessera

#include "tessera/base/end_header.inl"
