// SPDX-License-Identifier: Apache-2.0
// Random machines: unequal devices, linked one with another or by a tree of switches, full and half duplex.
#pragma once

#include "random_strategy.hpp"

#include "tessera/machine/presets.hpp"

#include <string>

namespace test_support {

/// 1, 10, ... 10^(powers-1), times 1 to 9.
inline ts::index_t random_size(int powers, random& pick) {
    ts::index_t size = 1 + pick(9);
    for (int i = pick(powers); i > 0; --i) {
        size *= 10;
    }
    return size;
}

/// Times at which transfers, tasks and latencies are of any order of magnitude against each other.
inline ts::device_graph random_machine(int devices, random& pick) {
    ts::device_graph g;
    g.name = "random";
    const int classes = 1 + pick(3);
    for (int c = 0; c < classes; ++c) {
        ts::device_class x;
        x.name = "class " + std::to_string(c);
        for (ts::index_t& rate : x.gigaflops) {
            rate = random_size(5, pick);
        }
        x.memory_megabytes = random_size(6, pick);
        x.launch = pick(2) == 0 ? 0 : random_size(4, pick);
        x.serial_copies = pick(3) == 0;
        x.host_megabytes = 1 + x.memory_megabytes / 64;
        x.share_host_link = 1 + static_cast<int>(x.launch % 2);
        x.host_update_megabytes = 1 + x.memory_megabytes / 16;
        g.add_class(x);
    }
    const int switches = pick(4);
    for (int i = 0; i < devices + switches; ++i) {
        i < devices ? g.add_device(pick(classes), "device " + std::to_string(i))
                    : g.add_switch("switch " + std::to_string(i));
    }
    const auto link = [&](int from, int to) {
        g.add_link(from, to, random_size(5, pick), pick(2) == 0 ? 0 : random_size(4, pick), 1 + pick(2), pick(3) == 0);
    };
    for (int i = devices + 1; i < devices + switches; ++i) { // a tree of switches
        link(devices + pick(i - devices), i);
    }
    for (int d = 0; d < devices; ++d) { // devices pass nothing on
        if (switches > 0) {
            link(d, devices + pick(switches));
        }
        for (int other = 0; other < d; ++other) {
            if (switches == 0 || pick(5) == 0) {
                link(other, d);
            }
        }
    }
    return g;
}

} // namespace test_support
