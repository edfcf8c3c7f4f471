// SPDX-License-Identifier: Apache-2.0
// A machine of equal devices, every two of which are linked alike: what searches in constant expressions take.
// device_graph.hpp has any other.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"

namespace tessera {

/// Equal devices, each with a link of its own to every other. Integers, so that costs are exact in constant
/// expressions.
struct machine {
    int devices = 1;
    index_t gigaflops = 1;        ///< compute rate of a device: 10^9 floating-point operations per second
    index_t memory_megabytes = 1; ///< memory bandwidth of a device: 10^6 bytes per second
    index_t link_megabytes = 1;   ///< bandwidth of a link in each direction: 10^6 bytes per second
    index_t link_latency = 0;     ///< nanoseconds before the first byte of a transfer arrives
    index_t launch = 0;           ///< nanoseconds that starting a task costs
    index_t capacity = 0;         ///< bytes of memory of a device; 0 if not known

    /// Nanoseconds for floating-point operations, at the device's peak rate.
    constexpr index_t compute_time(index_t flops) const { return flops / gigaflops; }
    /// Nanoseconds to read or write bytes of a device's own memory.
    constexpr index_t memory_time(index_t bytes) const { return bytes * 1000 / memory_megabytes; }
    /// Nanoseconds to move bytes over a link: nothing for nothing, else latency + bytes / bandwidth.
    constexpr index_t transfer_time(index_t bytes) const {
        return bytes == 0 ? 0 : link_latency + bytes * 1000 / link_megabytes;
    }

    friend constexpr bool operator==(const machine&, const machine&) = default;
};

/// Machines as types, so that one can be a template argument: `value` is the machine. They convert to it.
namespace machines {

template <class Preset>
struct preset {
    constexpr operator machine() const { return Preset::value; }
};

/// Devices P100 GPUs (SXM2), each pair with a link of its own as in the 4-GPU nodes of OptCNN and FlexFlow.
/// NVIDIA's figures: 10.6 TFLOP/s in f32, 732 GB/s, 16 GB; four NVLinks of 20 GB/s in each direction, hence one for
/// each pair of up to five. Assumptions of ours: 10 us latency, 5 us per launch, and the same links also where there
/// are more devices.
template <int Devices>
struct p100 : preset<p100<Devices>> {
    static constexpr machine value{Devices, 10600, 732000, 20000, 10000, 5000, 16000000000};
};

/// Devices threads of one host, each with vector units of its own and a share of the memory. All figures are
/// assumptions: 60 GFLOP/s and 10 GB/s per thread, copies at 8 GB/s that start after 1 us, half a microsecond per task.
template <int Devices>
struct host_threads : preset<host_threads<Devices>> {
    static constexpr machine value{Devices, 60, 10000, 8000, 1000, 500, 4000000000};
};

/// The same for a number of devices known at run time.
constexpr machine host(int devices) {
    machine m = host_threads<1>::value;
    m.devices = devices;
    return m;
}
constexpr machine p100_cluster(int devices) {
    machine m = p100<1>::value;
    m.devices = devices;
    return m;
}

} // namespace machines

} // namespace tessera

#include "tessera/base/end_header.inl"
