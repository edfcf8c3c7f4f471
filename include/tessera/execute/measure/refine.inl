// SPDX-License-Identifier: Apache-2.0
// Bodies of refine.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/measure/refine.hpp"

namespace tessera {

TESSERA_INLINE refined_strategy::refined_strategy(strategy best, int device_count, index_t samples,
                                                  std::vector<tried_strategy> all)
    : devices(device_count), batch(samples), tried(std::move(all)), best_(std::move(best)) {}

} // namespace tessera

#include "tessera/base/end_header.inl"
