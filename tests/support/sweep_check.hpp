// SPDX-License-Identifier: Apache-2.0
// The same numbers as one device, as checks of a unit test: every network under random strategies or pipelines, on any
// backend.
#pragma once

#include "pipeline_sweep.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

namespace test_support {

/// What every run is held to; tells the largest differences of a network at its end.
class sweep_check {
public:
    /// `allowed`: the largest relative difference.
    void hold(const sweep_case& c, int devices, const sweep_result& r, double allowed) {
        CAPTURE(c.name);
        CAPTURE(devices);
        CAPTURE(r.seen.worst);
        CHECK(r.failure == "");
        CHECK(r.seen.loss <= allowed);
        CHECK(r.seen.gradient <= allowed);
        CHECK(r.seen.change <= allowed);
        CHECK(r.seen.copies_equal);
        CHECK(r.repeats);
        loss_ = std::max(loss_, r.seen.loss);
        gradient_ = std::max(gradient_, r.seen.gradient);
        change_ = std::max(change_, r.seen.change);
    }

    void tell(const sweep_case& c, int count, const char* what) const {
        MESSAGE(c.name << ": " << count << " " << what << ", largest relative difference of losses " << loss_
                       << ", gradients " << gradient_ << ", changes of weights " << change_);
    }

private:
    double loss_ = 0;
    double gradient_ = 0;
    double change_ = 0;
};

/// Where the strategies of a network begin, so that few of each network are together on as many devices as many of one
/// are.
constexpr int first_of(int network) { return network * 5; }

/// Holds every network under random strategies; `make(optimizer, run)` makes a backend, twice in a row for each run.
/// Returns what was seen.
template <class Make>
coverage hold_strategies(int count, Make make, double allowed_with_adam = allowed_rounding) {
    coverage seen;
    int made = 0;
    int network = 0;
    for (const sweep_case& c : sweep_cases()) {
        sweep_check check;
        sweep(
            c, count, seen, [&](const ts::optimizer& update) { return make(update, made++ / 2); },
            [&](const sweep_case& of, int number, int devices, const sweep_result& r) {
                CAPTURE(number);
                check.hold(of, devices, r, allowed_rounding_of(of, allowed_with_adam));
            },
            first_of(network++));
        check.tell(c, count, "strategies");
    }
    return seen;
}

/// What the pipelines of a test were.
struct pipeline_coverage {
    std::map<std::string, int> schedules; ///< by name
    int uneven = 0;                       ///< micro-batches
    int recomputed = 0;
};

/// As hold_strategies, for random pipelines.
template <class Make>
pipeline_coverage hold_pipelines(int count, Make make, double allowed_with_adam = allowed_rounding) {
    pipeline_coverage result;
    coverage seen;
    int made = 0;
    int network = 0;
    for (const sweep_case& c : sweep_cases()) {
        sweep_check check;
        sweep_pipelines(
            c, count, seen, [&](const ts::optimizer& update) { return make(update, made++ / 2); },
            [&](const sweep_case& of, const pipeline_case& p, int devices, const sweep_result& r) {
                CAPTURE(p.schedule);
                CAPTURE(p.stages);
                CAPTURE(p.how.micro_batches);
                CAPTURE(p.recomputed);
                check.hold(of, devices, r, allowed_rounding_of(of, allowed_with_adam));
                ++result.schedules[p.schedule];
                result.uneven += of.network.tensors[0].extents[0] % p.how.micro_batches != 0 ? 1 : 0;
                result.recomputed += p.recomputed > 0 ? 1 : 0;
            },
            first_of(network++));
        check.tell(c, count, "pipelines");
    }
    return result;
}

} // namespace test_support
