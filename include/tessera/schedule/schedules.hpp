// SPDX-License-Identifier: Apache-2.0
// The library's pipeline schedules. A new one is a file with its record, and a row here.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/chimera.hpp"
#include "tessera/schedule/fill_drain.hpp"
#include "tessera/schedule/gems.hpp"
#include "tessera/schedule/gpipe.hpp"
#include "tessera/schedule/interleaved.hpp"
#include "tessera/schedule/one_forward_one_backward.hpp"
#include "tessera/schedule/zero_bubble.hpp"
#include "tessera/schedule/zero_bubble_v.hpp"

namespace tessera::schedule {

/// In the order in which fit() tries them and lists show them.
inline constexpr const schedule_record* library_schedules[] = {
    &fill_drain_record,  &gpipe_record,          &one_forward_one_backward_record,
    &interleaved_record, &zero_bubble_h1_record, &zero_bubble_v_record,
    &chimera_record,     &gems_record,
};

/// The same as a list to which others can be added.
std::vector<const schedule_record*> every_schedule();

/// The library's schedule of a name. Throws tessera::error, with names that are like it and the advice, where there is
/// none.
const schedule_record& schedule_named(std::string_view name, const std::string& advice = {});

} // namespace tessera::schedule

#ifndef TESSERA_COMPILED
#include "tessera/schedule/schedules.inl"
#endif

#include "tessera/base/end_header.inl"
