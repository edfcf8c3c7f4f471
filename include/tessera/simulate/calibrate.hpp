// SPDX-License-Identifier: Apache-2.0
// Numbers of a device model fitted to steps that somebody measured: least squares of the logarithms of predicted over
// measured times.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/device_graph.hpp"
#include "tessera/net/graph.hpp"
#include "tessera/plan/plan.hpp"

#include <string>
#include <vector>

namespace tessera::simulation {

/// A plan whose simulated time is part of a prediction, so many times.
struct weighed_plan {
    graph network;
    plan of;
    double weight = 1;
};

/// A step that was measured, and what predicts it: a plan, or plans of fewer layers and micro-batches from which it is
/// extrapolated.
struct measured_step {
    std::string called;
    device_graph on;
    std::vector<weighed_plan> plans;
    double nanoseconds = 0; ///< measured
};

/// What a step is predicted to take, in ns, on devices with these rates.
double predicted_time(const measured_step& s, const device_rates& rates);

/// A number that calibration moved.
struct fitted_number {
    std::string called;
    index_t before = 0;
    index_t after = 0;
};
/// A step beside its predictions, in ns.
struct fitted_step {
    std::string called;
    double measured = 0;
    double before = 0;
    double after = 0;
};
struct calibration {
    device_rates rates;
    std::vector<fitted_number> numbers;
    std::vector<fitted_step> steps;
    double error_before = 0; ///< root of the mean square of log(predicted / measured)
    double error_after = 0;
    int simulated = 0; ///< steps
};

/// Moves the named numbers of `start` (those that device_rates::field::fitted says, if none are named) one after the
/// other up and down by a factor that shrinks, as long as the error does. Throws tessera::error for names that are no
/// rates, and for fewer steps than numbers.
calibration calibrate(const std::vector<measured_step>& steps, const device_rates& start,
                      const std::vector<std::string>& numbers = {});

/// The report of a fit: every number and every step before and after.
std::string to_text(const calibration& c);

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/calibrate.inl"
#endif

#include "tessera/base/end_header.inl"
