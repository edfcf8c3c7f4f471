// SPDX-License-Identifier: Apache-2.0
// What this machine is, measured: what a run on its threads costs besides the tasks, and the rates that they reach.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/measure/task_clock.hpp"
#include "tessera/execute/local/devices.hpp"
#include "tessera/execute/measure/synthetic_batch.hpp"
#include "tessera/machine/device_graph.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tessera/simulate/task_time.hpp"

#include <cmath>

namespace tessera::host {

namespace detail {

struct probe_layer : linear<16> {};
struct probe_network : sequential<features<16>, probe_layer, cross_entropy> {};

/// Layers of a size at which rates are measured.
struct rate_conv : conv2d<64, window<3>, padding<1>> {};
struct rate_convs : sequential<image<64, 28, 28>, rate_conv, relu, flatten, cross_entropy> {};
struct rate_linear : linear<1024> {};
struct rate_linears : sequential<features<1024>, rate_linear, cross_entropy> {};

double median_of(std::vector<double> x);

/// Seconds that one of two threads takes to see what the other has written.
double measure_notice(workers& threads);

/// Seconds that an executor takes from one task to the next.
double measure_dispatch();

/// The same for processes of a group: what a barrier of all of them takes.
double measure_notice(process_group& group);

/// How much longer streaming through memory takes beside another thread that does it too, less 1; 0 with one thread.
double measure_pressure(workers& threads);

/// The same of rank 0 beside rank 1; of others, and of ranks on two nodes, it is 0.
double measure_pressure(process_group& group);

} // namespace detail

/// What runs on `used` threads of a team cost besides their tasks, from the backend's profile, and measured where it is
/// missing there.
simulation::thread_costs thread_costs_of(backend& b, const local_devices& team, int used);

/// This host as a machine, measured: what its threads reach on a convolution, a matrix product and elementwise work,
/// and how fast one reads what another wrote. The rates are what is reached, not peaks: the roofline's efficiencies are
/// 100 % here (see reached_here).
device_graph this_host(backend& b, const local_devices& team);

/// Efficiencies of a machine whose rates have been reached.
inline cost::roofline_efficiency reached_here() { return {{100, 100, 100}, 100}; }

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/measure/this_host.inl"
#endif

#include "tessera/base/end_header.inl"
