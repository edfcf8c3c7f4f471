// SPDX-License-Identifier: Apache-2.0
// The library's synchronization policies. A new one is a file with its record, and a row here.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/blocking_all_reduce.hpp"
#include "tessera/schedule/buckets.hpp"
#include "tessera/schedule/byte_scheduler.hpp"
#include "tessera/schedule/p3.hpp"
#include "tessera/schedule/parameter_average.hpp"
#include "tessera/schedule/parameter_server.hpp"
#include "tessera/schedule/quantized_gradients.hpp"
#include "tessera/schedule/ring_all_reduce.hpp"
#include "tessera/schedule/stale_gradients.hpp"
#include "tessera/schedule/tensor_fusion.hpp"
#include "tessera/schedule/top_k_gradients.hpp"
#include "tessera/schedule/zero.hpp"

namespace tessera::schedule {

/// In the order in which fit() tries them and lists show them.
inline constexpr const policy_record* library_policies[] = {
    &blocking_all_reduce_record,
    &ring_all_reduce_record,
    &tensor_fusion_record,
    &buckets_record,
    &parameter_server_record,
    &p3_record,
    &byte_scheduler_record,
    &byte_scheduler_all_reduce_record,
    &byte_scheduler_slices_record,
    &zero_1_record,
    &zero_2_record,
    &zero_3_record,
    &parameter_average_record,
    &eight_bit_gradients_record,
    &one_bit_gradients_record,
    &top_k_gradients_record,
    &stale_gradients_record,
};

/// Those that give the numbers of one device, as a list to which others can be added.
std::vector<const policy_record*> policies_of_same_numbers();

/// The library's policy of a name. Throws tessera::error, with names that are like it and the advice, where there is
/// none.
const policy_record& policy_named(std::string_view name, const std::string& advice = {});

} // namespace tessera::schedule

#ifndef TESSERA_COMPILED
#include "tessera/schedule/policies.inl"
#endif

#include "tessera/base/end_header.inl"
