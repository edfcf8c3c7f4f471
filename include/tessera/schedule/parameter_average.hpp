// SPDX-License-Identifier: Apache-2.0
// Averaging of parameters: Vishnu, Siegel and Daily, "Distributed TensorFlow with MPI" (arXiv 1603.02339).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/problem_text.hpp"
#include "tessera/schedule/policy_record.hpp"
#include "tessera/schedule/typed_synchronization.hpp"

namespace tessera::schedule {

constexpr problem check_parameter_average(int every) {
    return every < 1 ? problem{rule::averages_never, -1, -1, every, 1} : problem{};
}

/// Every copy of a parameter is updated from its own device's samples, and every `every` steps all copies become their
/// average. With plain SGD and every = 1 that is the average of gradients, exactly; with more steps it is an
/// asynchronous variant, whose copies differ in between. Lowering refuses optimizers with momentum or moments, and a
/// plan whose steps are no multiple of `every`. Throws tessera::error for less than every step.
synchronization parameter_average(int every);

inline constexpr option_row every_option{"every", "steps after which copies of parameters are averaged", 1, 1, 1024};

inline constexpr policy_record parameter_average_record{
    .name = "parameter-average",
    .title = "parameter average",
    .about = "every device updates its own copy; the average every so many steps; plain SGD alone",
    .make = [](const policy_setting& x) { return parameter_average(x.options.as<int>(every_option)); },
    .options = {every_option},
    .same_numbers = false,
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: synchronize<parameter_average<2>>.
template <int Every>
struct parameter_average {
    static constexpr problem check() { return schedule::check_parameter_average(Every); }
    static constexpr sync_modes modes() { return {false, sync_time::ready, sync_time::ready, false, Every}; }
    static synchronization make(const std::vector<schedule::ready_gradient>&, const schedule::worker_speed&) {
        return schedule::parameter_average(Every);
    }
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/parameter_average.inl"
#endif

#include "tessera/base/end_header.inl"
