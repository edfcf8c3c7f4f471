// SPDX-License-Identifier: Apache-2.0
// What FlexFlow's benchmarks are run with: arguments, machines, networks.
#pragma once

#include "benchmarks/search/flexflow_networks.hpp"
#include "benchmarks/support/search_rule.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/search/by_hand/hand_designed.hpp"
#include "tessera/simulate/simulate.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace flexflow {

namespace ts = tessera;
namespace search = tessera::search;
namespace simulation = tessera::simulation;

struct settings {
    std::vector<int> networks{0, 1, 2, 3, 4, 5};
    std::vector<int> devices{4, 16, 64};
    int proposals = 0; ///< of a chain; 0: as many as fit in its work
    benchmarks::search_rule rule;
    int threads = 0;
    int seeds = 10;
    int per_device = 64;
};

inline double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
inline double in_ms(ts::index_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-6; }

inline std::vector<int> numbers(const char* text) {
    std::vector<int> all;
    for (const char* at = text; at != nullptr && *at != '\0'; at = std::strchr(at, ',')) {
        at += *at == ',' ? 1 : 0;
        all.push_back(std::atoi(at));
    }
    return all;
}

inline settings read(int count, char** arguments) {
    settings s;
    for (int i = 2; i < count; ++i) {
        const char* value = std::strchr(arguments[i], '=');
        const std::string name(arguments[i],
                               value == nullptr ? std::strlen(arguments[i]) : ts::to_size(value - arguments[i]));
        value = value == nullptr ? "" : value + 1;
        if (name == "networks") {
            s.networks = numbers(value);
        } else if (name == "devices") {
            s.devices = numbers(value);
        } else if (double* real = name == "temperature"  ? &s.rule.temperature
                                  : name == "work"       ? &s.rule.work
                                  : name == "least_work" ? &s.rule.least_work
                                                         : nullptr) {
            *real = std::atof(value);
        } else if (int* known = name == "proposals"      ? &s.proposals
                                : name == "threads"      ? &s.threads
                                : name == "seeds"        ? &s.seeds
                                : name == "per_device"   ? &s.per_device
                                : name == "return_after" ? &s.rule.return_after
                                                         : nullptr) {
            *known = std::atoi(value);
        } else {
            std::fprintf(stderr, "flexflow: '%s' means nothing here; the source's head lists what does\n",
                         arguments[i]);
            std::exit(2);
        }
    }
    return s;
}

inline ts::cluster machine(int devices) {
    return ts::cluster(devices < 4 ? ts::machines::p100_nodes(1, devices) : ts::machines::p100_nodes(devices / 4));
}
inline ts::graph network(int which, int devices, const settings& s) {
    return benchmarks::flexflow_network(which, s.per_device * devices);
}
inline ts::index_t simulated(const ts::graph_view& g, const ts::strategy& s, const ts::cluster& on) {
    return simulation::simulate(g, ts::lower(g, s.view(), on.devices()), on).makespan;
}

} // namespace flexflow
