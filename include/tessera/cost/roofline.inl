// SPDX-License-Identifier: Apache-2.0
// Bodies of roofline.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/roofline.hpp"

namespace tessera::cost::detail {

TESSERA_INLINE void refuse_rates(const device_class& on, index_t rate, int compute, int memory) {
    throw error("tessera: a device of class '" + on.name + "' computes at " + std::to_string(rate) +
                " GFLOP/s and reads at " + std::to_string(on.memory_megabytes) + " MB/s, of which " +
                std::to_string(compute) + " and " + std::to_string(memory) +
                " per cent are reached; each must be at least 1");
}

} // namespace tessera::cost::detail

#include "tessera/base/end_header.inl"
