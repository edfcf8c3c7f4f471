// SPDX-License-Identifier: Apache-2.0
// What there is to know of a synchronization policy that is chosen by name, as one record: its file defines it, and
// nothing else names it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/registry.hpp"
#include "tessera/schedule/gradients.hpp"

namespace tessera::schedule {

/// What a policy has to go by.
struct policy_setting {
    std::vector<ready_gradient> gradients; ///< of the network
    int members = 1;      ///< devices that may have copies of the same parameters, at most: so many servers
    worker_speed speed{}; ///< of a device, and of the way to the last one
    option_values options{};
};

struct policy_record {
    std::string_view name{};  ///< on command lines and in lists: unique
    std::string_view title{}; ///< in texts
    std::string_view about{};
    synchronization (*make)(const policy_setting&) = nullptr;
    option_row options[3] = {}; ///< those that have a name
    bool same_numbers = true;   ///< any strategy under it gives the numbers of one device; fit() takes no other
};

/// What a policy makes. Throws tessera::error for options that it does not take.
synchronization make(const policy_record& r, const policy_setting& on);

/// Parameter servers; unless it is given there are as many as devices that share parameters.
inline constexpr option_row servers_option{
    "servers", "parameter servers; 0: one on every device that shares parameters", 0, 0, 1 << 20};

int servers_of(const policy_setting& x);

} // namespace tessera::schedule

#ifndef TESSERA_COMPILED
#include "tessera/schedule/policy_record.inl"
#endif

#include "tessera/base/end_header.inl"
