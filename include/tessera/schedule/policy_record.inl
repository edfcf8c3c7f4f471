// SPDX-License-Identifier: Apache-2.0
// Bodies of policy_record.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/policy_record.hpp"

namespace tessera::schedule {

TESSERA_INLINE synchronization make(const policy_record& r, const policy_setting& on) {
    require_options(r, on.options, "policy");
    return r.make(on);
}

TESSERA_INLINE int servers_of(const policy_setting& x) {
    const int given = x.options.as<int>(servers_option);
    return given > 0 ? given : x.members;
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
