// SPDX-License-Identifier: Apache-2.0
// The machine as a graph, as a value: devices with rates and memory, switches, the links between them, and what lies
// inside what.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/base/error.hpp"
#include "tessera/machine/device_rates.hpp"
#include "tessera/op/attributes.hpp"
#include "tessera/op/description.hpp"

#include <string>
#include <vector>

namespace tessera {

/// Bounds of what a machine may be said to be, far beyond any that is: within them no time overflows.
inline constexpr index_t largest_rate =
    1'000'000'000; ///< GFLOP/s and MB/s: 10^18 per second and 10^15 bytes per second
inline constexpr index_t largest_latency = 1'000'000'000;   ///< ns: a second
inline constexpr index_t largest_memory = index_t{1} << 50; ///< bytes
inline constexpr int most_cables = 4096;                    ///< of one link

/// What a kind of device can do.
struct device_class {
    std::string name;
    /// Peak rate for each kind of work in fp32: 10^9 floating-point operations per second.
    index_t gigaflops[work_kinds] = {1, 1, 1};
    index_t memory_megabytes = 1; ///< peak memory bandwidth: 10^6 bytes per second
    index_t memory_bytes = 0;     ///< capacity; 0 if not known
    index_t launch = 0;           ///< nanoseconds that starting a task costs
    /// True where the device itself moves the bytes of its copies and updates (threads of a host), so that they take
    /// their turn among its tasks; false where they run beside its computation, on a second stream that shares its
    /// engine (GPUs).
    bool serial_copies = false;
    /// The same rates for work of networks in other precisions; 0: as in fp32.
    index_t tf32_gigaflops[work_kinds] = {0, 0, 0};
    index_t bf16_gigaflops[work_kinds] = {0, 0, 0};
    /// Bandwidth of a device's own link to its host's memory in one direction: 10^6 bytes per second; 0: none is known.
    index_t host_megabytes = 0;
    /// 0: as in fp32, and for fp8 as in bf16.
    index_t fp16_gigaflops[work_kinds] = {0, 0, 0};
    index_t fp8_gigaflops[work_kinds] = {0, 0, 0};
    /// Devices of a node that share such a link, behind one switch: in their order, so many each.
    int share_host_link = 1;
    /// Bytes of gradients, parameters and state that an optimizer's step on the host's processors passes over, of all
    /// devices of a node: 10^6 per second; 0: none is known.
    index_t host_update_megabytes = 0;
    device_rates rates{}; ///< by size, where they are known

    /// The peak rate for a kind of work in a precision.
    constexpr index_t rate(work_kind kind, precision math = precision::fp32) const {
        const int k = static_cast<int>(kind);
        const index_t own = math == precision::tf32                             ? tf32_gigaflops[k]
                            : math == precision::fp16                           ? fp16_gigaflops[k]
                            : math == precision::fp8 && fp8_gigaflops[k] > 0    ? fp8_gigaflops[k]
                            : math == precision::bf16 || math == precision::fp8 ? bf16_gigaflops[k]
                                                                                : gigaflops[k];
        return own > 0 ? own : gigaflops[k];
    }
    /// Whether it multiplies matrices faster in a precision than it does in fp32, or computes in fp32.
    constexpr bool has(precision math) const {
        constexpr int k = static_cast<int>(work_kind::matrix_product);
        return math == precision::fp32 || (math == precision::tf32   ? tf32_gigaflops[k]
                                           : math == precision::bf16 ? bf16_gigaflops[k]
                                           : math == precision::fp16 ? fp16_gigaflops[k]
                                                                     : fp8_gigaflops[k]) > 0;
    }

    friend bool operator==(const device_class&, const device_class&) = default;
};

/// A device (its class is at least 0) or something that only passes on (class -1: a switch, a network card).
struct component {
    std::string name;
    int device_class = -1;
    int inside = -1; ///< the component that contains it (a node's chassis), or -1

    friend bool operator==(const component&, const component&) = default;
};

/// A link between two components. Each direction carries its bandwidth at the same time as the other, unless it is half
/// duplex.
struct link {
    int from = 0;
    int to = 0;
    index_t megabytes = 1; ///< bandwidth of one cable in one direction: 10^6 bytes per second
    index_t latency = 0;   ///< nanoseconds
    int cables = 1;        ///< side by side; a transfer uses one of them, always the same between the same two devices
    bool half_duplex = false;

    friend bool operator==(const link&, const link&) = default;
};

/// Devices are numbered 0, 1, ... in the order of their components.
struct device_graph {
    std::string name;
    std::vector<device_class> classes;
    std::vector<component> components;
    std::vector<link> links;

    friend bool operator==(const device_graph&, const device_graph&) = default;

    int add_class(const device_class& c);
    int add_device(int which_class, const std::string& named, int inside = -1);
    int add_switch(const std::string& named, int inside = -1) { return add_device(-1, named, inside); }
    void add_link(int from, int to, index_t megabytes, index_t latency, int cables = 1, bool half_duplex = false);
    int device_count() const;
};

namespace detail {

[[noreturn]] void refuse_machine(const device_graph& g, const std::string& what);

void check_class(const device_graph& g, const device_class& c);

void check_component(const device_graph& g, int i);

void check_link(const device_graph& g, std::size_t i);

int root_of(std::vector<int>& group, int i);

/// Throws unless every two devices are linked, directly or through switches; devices pass nothing on.
void check_connected(const device_graph& g);

} // namespace detail

/// The machine with its first devices alone, all switches, and the links that are left.
device_graph first_devices(const device_graph& g, int devices);

/// Throws tessera::error, naming the class, component or link, unless there is a device, every number is in its range,
/// containment is a tree, and every two devices are linked.
void require(const device_graph& g);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/machine/device_graph.inl"
#endif

#include "tessera/base/end_header.inl"
