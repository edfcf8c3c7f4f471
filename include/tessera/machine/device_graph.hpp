// SPDX-License-Identifier: Apache-2.0
// The machine as a graph, as a value: devices with rates and memory, switches, the links between them, and what lies inside what.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/base/error.hpp"
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
    /// True where the device itself moves the bytes of its copies and updates (threads of a host), so that they take their turn among
    /// its tasks; false where they run beside its computation, on a second stream that shares its engine (GPUs).
    bool copies_in_turn = false;
    /// The same rates for work of networks in other precisions; 0: as in fp32.
    index_t tf32_gigaflops[work_kinds] = {0, 0, 0};
    index_t bf16_gigaflops[work_kinds] = {0, 0, 0};

    /// The peak rate for a kind of work in a precision.
    constexpr index_t rate(work_kind kind, precision math = precision::fp32) const {
        const int k = static_cast<int>(kind);
        const index_t own = math == precision::tf32   ? tf32_gigaflops[k]
                            : math == precision::bf16 ? bf16_gigaflops[k]
                                                      : gigaflops[k];
        return own > 0 ? own : gigaflops[k];
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

/// A link between two components. Each direction carries its bandwidth at the same time as the other, unless it is half duplex.
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

    int add_class(const device_class& c) {
        classes.push_back(c);
        return static_cast<int>(classes.size()) - 1;
    }
    int add_device(int which_class, const std::string& named, int inside = -1) {
        components.push_back({named, which_class, inside});
        return static_cast<int>(components.size()) - 1;
    }
    int add_switch(const std::string& named, int inside = -1) { return add_device(-1, named, inside); }
    void add_link(int from, int to, index_t megabytes, index_t latency, int cables = 1, bool half_duplex = false) {
        links.push_back({from, to, megabytes, latency, cables, half_duplex});
    }
    int device_count() const {
        int n = 0;
        for (const component& c : components) {
            n += c.device_class >= 0 ? 1 : 0;
        }
        return n;
    }
};

namespace detail {

[[noreturn]] inline void refuse_machine(const device_graph& g, const std::string& what) {
    throw error("tessera: machine '" + g.name + "': " + what);
}

inline void check_class(const device_graph& g, const device_class& c) {
    const std::string who = "device class '" + c.name + "' ";
    for (int k = 0; k < work_kinds; ++k) {
        if (c.gigaflops[k] < 1) {
            refuse_machine(g, who + "computes at rate " + std::to_string(c.gigaflops[k]) + " (" +
                                  to_text(static_cast<work_kind>(k)) + "); give at least 1 GFLOP/s");
        }
        if (c.tf32_gigaflops[k] < 0 || c.bf16_gigaflops[k] < 0) {
            refuse_machine(g, who + "has a negative rate in tf32 or bf16 (" + to_text(static_cast<work_kind>(k)) +
                                  "); give 0 where it is that of fp32");
        }
    }
    if (c.memory_megabytes < 1) {
        refuse_machine(g, who + "has no memory bandwidth; give at least 1 MB/s");
    }
    if (c.memory_bytes < 0 || c.launch < 0) {
        refuse_machine(g, who + "has a negative memory or launch time; give 0 for what is not known");
    }
    bool too_large = c.memory_megabytes > largest_rate || c.memory_bytes > largest_memory || c.launch > largest_latency;
    for (int k = 0; k < work_kinds; ++k) {
        too_large = too_large || c.gigaflops[k] > largest_rate || c.tf32_gigaflops[k] > largest_rate ||
                    c.bf16_gigaflops[k] > largest_rate;
    }
    if (too_large) {
        refuse_machine(g, who + "has a number beyond any device; rates are in GFLOP/s and MB/s, times in nanoseconds");
    }
}

inline void check_component(const device_graph& g, int i) {
    const int count = static_cast<int>(g.components.size());
    const component& c = g.components[static_cast<std::size_t>(i)];
    const std::string who = "component " + std::to_string(i) + " '" + c.name + "' ";
    if (c.device_class >= static_cast<int>(g.classes.size()) || c.device_class < -1) {
        refuse_machine(g, who + "is of class " + std::to_string(c.device_class) + ", but there are " +
                              std::to_string(g.classes.size()) + " classes; add the class, or say -1 for a switch");
    }
    if (c.inside < -1 || c.inside >= count) {
        refuse_machine(g, who + "lies inside component " + std::to_string(c.inside) + ", which does not exist");
    }
    int outer = c.inside;
    for (int steps = 0; outer >= 0; ++steps) {
        if (steps >= count) {
            refuse_machine(g, who + "lies inside itself by way of others; make what lies inside what a tree");
        }
        outer = g.components[static_cast<std::size_t>(outer)].inside;
        if (outer < -1 || outer >= count) {
            break; // that component's own check says so
        }
    }
}

inline void check_link(const device_graph& g, std::size_t i) {
    const link& l = g.links[i];
    const int count = static_cast<int>(g.components.size());
    const std::string who =
        "link " + std::to_string(i) + " from component " + std::to_string(l.from) + " to " + std::to_string(l.to) + " ";
    if (l.from < 0 || l.from >= count || l.to < 0 || l.to >= count) {
        refuse_machine(g, who + "joins a component that does not exist; there are " + std::to_string(count));
    }
    if (l.from == l.to) {
        refuse_machine(g, who + "joins a component to itself; leave it out");
    }
    if (l.megabytes < 1) {
        refuse_machine(g, who + "has bandwidth " + std::to_string(l.megabytes) + "; give at least 1 MB/s");
    }
    if (l.latency < 0) {
        refuse_machine(g, who + "has negative latency; give nanoseconds, at least 0");
    }
    if (l.cables < 1) {
        refuse_machine(g, who + "has " + std::to_string(l.cables) + " cables; give at least 1");
    }
    if (l.megabytes > largest_rate || l.latency > largest_latency || l.cables > most_cables) {
        refuse_machine(g, who + "has a number beyond any link; bandwidth is in MB/s, latency in nanoseconds");
    }
}

inline int root_of(std::vector<int>& group, int i) {
    while (group[static_cast<std::size_t>(i)] != i) {
        group[static_cast<std::size_t>(i)] = group[static_cast<std::size_t>(group[static_cast<std::size_t>(i)])];
        i = group[static_cast<std::size_t>(i)];
    }
    return i;
}

/// Throws unless every two devices are linked, directly or through switches; devices pass nothing on.
inline void check_connected(const device_graph& g) {
    const auto is_device = [&](int i) { return g.components[static_cast<std::size_t>(i)].device_class >= 0; };
    std::vector<int> group(g.components.size());
    for (std::size_t i = 0; i < group.size(); ++i) {
        group[i] = static_cast<int>(i);
    }
    for (const link& l : g.links) {
        if (!is_device(l.from) && !is_device(l.to)) {
            group[static_cast<std::size_t>(root_of(group, l.from))] = root_of(group, l.to);
        }
    }
    std::vector<std::vector<int>> reach(g.components.size()); // of a device: fabrics of switches, and devices beside it
    for (const link& l : g.links) {
        for (const auto& [a, b] : {std::pair{l.from, l.to}, std::pair{l.to, l.from}}) {
            if (is_device(a)) {
                reach[static_cast<std::size_t>(a)].push_back(is_device(b) ? b : root_of(group, b));
            }
        }
    }
    const auto has_one = [](const std::vector<int>& list, int x) {
        for (int y : list) {
            if (x == y) {
                return true;
            }
        }
        return false;
    };
    std::vector<int> devices;
    std::vector<int> common; // fabrics that all devices so far are on: one is enough, and usual
    for (int i = 0; i < static_cast<int>(g.components.size()); ++i) {
        if (!is_device(i)) {
            continue;
        }
        const std::vector<int>& mine = reach[static_cast<std::size_t>(i)];
        std::vector<int> left;
        for (int f : devices.empty() ? mine : common) {
            if (!is_device(f) && has_one(mine, f)) {
                left.push_back(f);
            }
        }
        common = left;
        devices.push_back(i);
    }
    for (std::size_t x = 0; common.empty() && x < devices.size(); ++x) {
        for (std::size_t y = 0; y < x; ++y) {
            const std::vector<int>& mine = reach[static_cast<std::size_t>(devices[x])];
            bool linked = has_one(mine, devices[y]);
            for (int f : reach[static_cast<std::size_t>(devices[y])]) {
                linked = linked || (!is_device(f) && has_one(mine, f));
            }
            if (!linked) {
                refuse_machine(g, "no way leads from device " + std::to_string(y) + " '" +
                                      g.components[static_cast<std::size_t>(devices[y])].name + "' to device " +
                                      std::to_string(x) + " '" +
                                      g.components[static_cast<std::size_t>(devices[x])].name +
                                      "'; link them, or both to one switch");
            }
        }
    }
}

} // namespace detail

/// Throws tessera::error, naming the class, component or link, unless there is a device, every number is in its range, containment is
/// a tree, and every two devices are linked.
inline void require(const device_graph& g) {
    if (g.device_count() == 0) {
        detail::refuse_machine(g, "has no device; add one");
    }
    for (const device_class& c : g.classes) {
        detail::check_class(g, c);
    }
    for (int i = 0; i < static_cast<int>(g.components.size()); ++i) {
        detail::check_component(g, i);
    }
    for (std::size_t i = 0; i < g.links.size(); ++i) {
        detail::check_link(g, i);
    }
    detail::check_connected(g);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
