// SPDX-License-Identifier: Apache-2.0
// Bodies of schedules.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/schedules.hpp"

namespace tessera::schedule {

TESSERA_INLINE std::vector<const schedule_record*> every_schedule() {
    return {std::begin(library_schedules), std::end(library_schedules)};
}

TESSERA_INLINE const schedule_record& schedule_named(std::string_view name, const std::string& advice) {
    return find_record(record_list(library_schedules), name, "schedule", advice);
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
