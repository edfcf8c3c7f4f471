// SPDX-License-Identifier: Apache-2.0
// Bodies of byte_scheduler.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/byte_scheduler.hpp"

namespace tessera::schedule {

TESSERA_INLINE synchronization byte_scheduler(const std::vector<ready_gradient>& gradients, const credit_rule& rule) {
    require(check_credit(rule));
    return prioritized_slices(gradients, {rule.how, rule.servers, rule.partition, rule.speed.bytes_per_ns,
                                          rule.credit * bytes_of(element::f32)});
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
