// SPDX-License-Identifier: Apache-2.0
// Bodies of parameter_average.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/parameter_average.hpp"

namespace tessera::schedule {

TESSERA_INLINE synchronization parameter_average(int every) {
    require(check_parameter_average(every));
    synchronization s;
    s.average_every = every;
    return s;
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
