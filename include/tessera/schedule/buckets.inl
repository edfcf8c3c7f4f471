// SPDX-License-Identifier: Apache-2.0
// Bodies of buckets.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/buckets.hpp"

namespace tessera::schedule {

TESSERA_INLINE synchronization buckets(const std::vector<ready_gradient>& gradients, const bucket_sizes& size) {
    require(check_buckets(size));
    synchronization s;
    s.update_at = sync_time::after_backward;
    index_t filled = 0;
    bool open = false;
    for (const ready_gradient& x : gradients) {
        if (!open) {
            s.messages.push_back({exchange::all_reduce, 0, {}});
            filled = 0;
        }
        s.messages.back().slices.push_back({x.parameter, 0, 1});
        filled += x.bytes();
        open = filled < (s.messages.size() == 1 ? size.first : size.bytes);
    }
    return s;
}

TESSERA_INLINE bucket_sizes asked_buckets(const policy_setting& x) {
    return {x.options.as<index_t>(bucket_option), x.options.as<index_t>(first_bucket_option)};
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
