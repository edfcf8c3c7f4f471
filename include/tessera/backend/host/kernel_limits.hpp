// SPDX-License-Identifier: Apache-2.0
// Extents as kernels of our own count them, and shapes that are too large for them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/call.hpp"
#include "tessera/backend/host/kernels/limits.hpp"
#include "tessera/op/records.hpp"

namespace tessera::host::detail {

/// The largest int for what is larger: no kernel fits that (kernels/limits.hpp).
inline int to_int(index_t x) { return x > INT_MAX ? INT_MAX : static_cast<int>(x); }
inline int blocks_of(index_t samples) { return to_int((samples + 15) / 16); }

/// Samples with the last block of 16 filled up.
constexpr index_t padded_samples(index_t samples) { return (samples + 15) / 16 * 16; }

/// Throws tessera::error for a shape that a kernel cannot do: none is offered for it, so that the plan was not made
/// here.
template <class Shape>
const Shape& fitting(const Shape& s, const compute_call& c) {
    if (!kernels::fits(s)) {
        throw error("tessera: a " + std::string(record_of(c.attributes).name) +
                    " is too large for the kernel that the plan names; bind the plan again");
    }
    return s;
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
