// SPDX-License-Identifier: Apache-2.0
// Every synchronization policy of the library's list that gives the numbers of one device, with options that make small
// networks' gradients travel in several slices, buckets and cycles.
#pragma once

#include "tessera/schedule/policies.hpp"

#include <string>
#include <utility>
#include <vector>

namespace test_support {

namespace ts = tessera;

/// The value of an option for small networks, of one policy or ("") of any.
struct small_option {
    std::string_view policy;
    std::string_view option;
    double value = 0;
};
inline constexpr small_option small_options[] = {
    {"", "fusion-bytes", 2000},
    {"", "fusion-cycle", 2000},
    {"", "bucket-bytes", 2400},
    {"", "first-bucket-bytes", 500},
    {"", "big", 300},
    {"", "slice", 100},
    {"", "partition", 150},
    {"", "credit", 400},
    {"", "bucket-elements", 400},
    {"byte-scheduler-all-reduce", "partition", 200},
    {"byte-scheduler-all-reduce", "credit", 500},
};

/// By their titles, in the order of the list. A policy with an option that has no row above has it as usual.
inline std::vector<std::pair<std::string, ts::synchronization>> small_policies(const ts::graph_view& g, int devices) {
    const ts::schedule::worker_speed slow{1, 0.01};
    const std::vector<ts::schedule::ready_gradient> gradients = ts::schedule::gradients_of(g, slow);
    std::vector<std::pair<std::string, ts::synchronization>> all;
    for (const ts::schedule::policy_record* r : ts::schedule::policies_of_same_numbers()) {
        ts::option_values values;
        for (const small_option& o : small_options) {
            const bool own = ts::find_option(*r, o.option) != nullptr && (o.policy.empty() || o.policy == r->name);
            if (own) {
                values.set(o.option, o.value);
            }
        }
        all.emplace_back(r->title, ts::schedule::make(*r, {gradients, devices, slow, values}));
    }
    return all;
}

/// The one of a name in the list.
inline std::pair<std::string, ts::synchronization> small_policy(const ts::graph_view& g, int devices,
                                                                std::string_view name) {
    const std::string title(ts::schedule::policy_named(name).title);
    for (const auto& x : small_policies(g, devices)) {
        if (x.first == title) {
            return x;
        }
    }
    throw ts::error("the policy '" + title + "' does not give the numbers of one device");
}

} // namespace test_support
