// SPDX-License-Identifier: Apache-2.0
// Bodies of device_graph.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/device_graph.hpp"

namespace tessera {

TESSERA_INLINE int device_graph::add_class(const device_class& c) {
    classes.push_back(c);
    return static_cast<int>(classes.size()) - 1;
}

TESSERA_INLINE int device_graph::add_device(int which_class, const std::string& named, int inside) {
    components.push_back({named, which_class, inside});
    return static_cast<int>(components.size()) - 1;
}

TESSERA_INLINE void device_graph::add_link(int from, int to, index_t megabytes, index_t latency, int cables,
                                           bool half_duplex) {
    links.push_back({from, to, megabytes, latency, cables, half_duplex});
}

TESSERA_INLINE int device_graph::device_count() const {
    int n = 0;
    for (const component& c : components) {
        n += c.device_class >= 0 ? 1 : 0;
    }
    return n;
}

} // namespace tessera

namespace tessera::detail {

TESSERA_INLINE void refuse_machine(const device_graph& g, const std::string& what) {
    throw error("tessera: machine '" + g.name + "': " + what);
}

TESSERA_INLINE void check_class(const device_graph& g, const device_class& c) {
    const std::string who = "device class '" + c.name + "' ";
    for (int k = 0; k < work_kinds; ++k) {
        if (c.gigaflops[k] < 1) {
            refuse_machine(g, who + "computes at rate " + std::to_string(c.gigaflops[k]) + " (" +
                                  to_text(static_cast<work_kind>(k)) + "); give at least 1 GFLOP/s");
        }
        if (c.tf32_gigaflops[k] < 0 || c.bf16_gigaflops[k] < 0 || c.fp16_gigaflops[k] < 0 || c.fp8_gigaflops[k] < 0) {
            refuse_machine(g, who + "has a negative rate in tf32, bf16, fp16 or fp8 (" +
                                  to_text(static_cast<work_kind>(k)) + "); give 0 where it is that of fp32");
        }
    }
    if (c.memory_megabytes < 1) {
        refuse_machine(g, who + "has no memory bandwidth; give at least 1 MB/s");
    }
    if (c.memory_bytes < 0 || c.launch < 0 || c.host_megabytes < 0 || c.host_update_megabytes < 0) {
        refuse_machine(g, who + "has a negative memory, launch time or bandwidth to its host; give 0 for what is not "
                                "known");
    }
    if (c.share_host_link < 1) {
        refuse_machine(g, who + "shares its link to the host among " + std::to_string(c.share_host_link) +
                              " devices; give 1 where each has its own");
    }
    device_rates::each_field([&](const char* name, index_t device_rates::*field, const device_rates::field& x) {
        const index_t value = c.rates.*field;
        if (c.rates.known() && (value < x.least || value > x.most)) {
            refuse_machine(g, who + "has the rate " + name + " " + std::to_string(value) + "; give a number from " +
                                  std::to_string(x.least) + " to " + std::to_string(x.most));
        }
    });
    bool too_large = c.memory_megabytes > largest_rate || c.host_megabytes > largest_rate ||
                     c.host_update_megabytes > largest_rate || c.memory_bytes > largest_memory ||
                     c.launch > largest_latency;
    for (int k = 0; k < work_kinds; ++k) {
        too_large = too_large || c.gigaflops[k] > largest_rate || c.tf32_gigaflops[k] > largest_rate ||
                    c.bf16_gigaflops[k] > largest_rate || c.fp16_gigaflops[k] > largest_rate ||
                    c.fp8_gigaflops[k] > largest_rate;
    }
    if (too_large) {
        refuse_machine(g, who + "has a number beyond any device; rates are in GFLOP/s and MB/s, times in nanoseconds");
    }
}

TESSERA_INLINE void check_component(const device_graph& g, int i) {
    const int count = static_cast<int>(g.components.size());
    const component& c = g.components[to_size(i)];
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
        outer = g.components[to_size(outer)].inside;
        if (outer < -1 || outer >= count) {
            break; // that component's own check says so
        }
    }
}

TESSERA_INLINE void check_link(const device_graph& g, std::size_t i) {
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

TESSERA_INLINE int root_of(std::vector<int>& group, int i) {
    while (group[to_size(i)] != i) {
        group[to_size(i)] = group[to_size(group[to_size(i)])];
        i = group[to_size(i)];
    }
    return i;
}

TESSERA_INLINE void check_connected(const device_graph& g) {
    const auto is_device = [&](int i) { return g.components[to_size(i)].device_class >= 0; };
    std::vector<int> group(g.components.size());
    for (std::size_t i = 0; i < group.size(); ++i) {
        group[i] = static_cast<int>(i);
    }
    for (const link& l : g.links) {
        if (!is_device(l.from) && !is_device(l.to)) {
            group[to_size(root_of(group, l.from))] = root_of(group, l.to);
        }
    }
    std::vector<std::vector<int>> reach(g.components.size()); // of a device: fabrics of switches, and devices beside it
    for (const link& l : g.links) {
        for (const auto& [a, b] : {std::pair{l.from, l.to}, std::pair{l.to, l.from}}) {
            if (is_device(a)) {
                reach[to_size(a)].push_back(is_device(b) ? b : root_of(group, b));
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
        const std::vector<int>& mine = reach[to_size(i)];
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
            const std::vector<int>& mine = reach[to_size(devices[x])];
            bool linked = has_one(mine, devices[y]);
            for (int f : reach[to_size(devices[y])]) {
                linked = linked || (!is_device(f) && has_one(mine, f));
            }
            if (!linked) {
                refuse_machine(g, "no way leads from device " + std::to_string(y) + " '" +
                                      g.components[to_size(devices[y])].name + "' to device " + std::to_string(x) +
                                      " '" + g.components[to_size(devices[x])].name +
                                      "'; link them, or both to one switch");
            }
        }
    }
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE device_graph first_devices(const device_graph& g, int devices) {
    device_graph r = g;
    r.components.clear();
    r.links.clear();
    std::vector<int> number;
    int seen = 0;
    for (const component& c : g.components) {
        const bool stays = c.device_class < 0 || seen++ < devices;
        number.push_back(stays ? static_cast<int>(r.components.size()) : -1);
        if (stays) {
            r.components.push_back(c);
        }
    }
    for (component& c : r.components) {
        c.inside = c.inside < 0 ? -1 : number[to_size(c.inside)];
    }
    for (link l : g.links) {
        l.from = number[to_size(l.from)];
        l.to = number[to_size(l.to)];
        if (l.from >= 0 && l.to >= 0) {
            r.links.push_back(l);
        }
    }
    return r;
}

TESSERA_INLINE void require(const device_graph& g) {
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
