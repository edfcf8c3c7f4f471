// SPDX-License-Identifier: Apache-2.0
// Lowering of updates that the host's processor makes, where the optimizer's state is: a slice's summed gradient goes
// down to the host's memory, the step is made there in a copy of the parameter, and that comes up to the devices.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/places.hpp"
#include "tessera/plan/lower/plan_writer.hpp"

namespace tessera::lowering {

/// Adds up each slice's gradient into the host's memory, and finds the host's copies of the parameters. After it their
/// gradients are read from there. Does nothing where the state is the device's, and where it has been done.
void bring_down(const lowering_input& in, synchronization_places& sync, plan_writer& out, reduced_slices& all,
                int number);

/// Some contribution to copies comes from a device that is not the one copy's.
bool crosses_devices(const plan_writer& out, const std::vector<int>& sources, const std::vector<piece>& copies);

/// Sums the contributions to a region's slices on the devices of its copies, in one message: a tile for each.
std::vector<int> sum_for_host(const lowering_input& in, plan_writer& out, const reduced_slice& all);

/// Keeps what has been summed until it is updated.
void put_off(const lowering_input& in, synchronization_places& sync, plan_writer& out, reduced_slices all);

/// Brings up what the host has stepped since the last time, to all copies: each device its own slices, which all then
/// gather (one message). Bytes of n copies of P bytes: P / n over each link to a host, (n - 1) / n P between devices.
void bring_up(const lowering_input& in, synchronization_places& sync, plan_writer& out);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/host_state.inl"
#endif

#include "tessera/base/end_header.inl"
