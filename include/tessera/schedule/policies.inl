// SPDX-License-Identifier: Apache-2.0
// Bodies of policies.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/policies.hpp"

namespace tessera::schedule {

TESSERA_INLINE std::vector<const policy_record*> policies_of_same_numbers() {
    std::vector<const policy_record*> all;
    for (const policy_record* r : library_policies) {
        if (r->same_numbers) {
            all.push_back(r);
        }
    }
    return all;
}

TESSERA_INLINE const policy_record& policy_named(std::string_view name, const std::string& advice) {
    return find_record(record_list(library_policies), name, "synchronization policy", advice);
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
