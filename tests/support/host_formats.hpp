// SPDX-License-Identifier: Apache-2.0
// Host backends whose implementations and memory formats are estimated in even runs and random in odd ones.
#pragma once

#include "tessera/backend/host/backend.hpp"

#include <cstdint>

namespace test_support {

inline tessera::host::backend host_in_formats_of(const tessera::optimizer& update, int run) {
    tessera::host::backend_options options;
    options.how = run % 2 == 0 ? tessera::host::tuning::estimate : tessera::host::tuning::random;
    options.seed = static_cast<std::uint64_t>(run);
    return tessera::host::backend(update, options);
}

} // namespace test_support
