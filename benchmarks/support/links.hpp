// SPDX-License-Identifier: Apache-2.0
// What programs do that run over links between nodes of one machine (tests/ranks/links.py).
#pragma once

#include "tessera/machine/cluster.hpp"
#include "tessera/search/pipeline.hpp"
#include "tessera/strategy/strategy.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

namespace benchmarks {

namespace ts = tessera;
using ts::index_t;

inline ts::strategy with(const ts::strategy& s, const ts::synchronization& messages) {
    ts::strategy made = s;
    made.sync = messages;
    made.overlap = true;
    return made;
}

/// Nodes of one device that takes `milliseconds` for the network, each with a link of this rate to a switch. The same
/// on all ranks.
inline ts::cluster nodes_that_take(const ts::graph_view& g, double milliseconds, double bytes_per_second, int nodes) {
    ts::device_class on{"core", {100, 100, 100}, 10'000};
    const std::vector<index_t> times = ts::search::operator_times(g, on);
    const double scale =
        static_cast<double>(std::accumulate(times.begin(), times.end(), index_t{0})) * 1e-6 / milliseconds;
    for (index_t& rate : on.gigaflops) {
        rate = std::max<index_t>(1, static_cast<index_t>(static_cast<double>(rate) * scale));
    }
    on.memory_megabytes = std::max<index_t>(1, static_cast<index_t>(1e4 * scale));
    ts::device_graph made;
    made.name = "nodes";
    const int kind = made.add_class(on);
    const int between = made.add_switch("switch");
    for (int n = 0; n < nodes; ++n) {
        made.add_link(made.add_device(kind, "node" + std::to_string(n)), between,
                      std::max<index_t>(1, static_cast<index_t>(bytes_per_second * 1e-6)), 50'000);
    }
    return ts::cluster(made);
}

/// Bytes that have left this node.
inline double bytes_sent() {
    std::ifstream in("/proc/net/dev");
    std::string line;
    while (std::getline(in, line)) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        if (name == "out:") {
            double x = 0;
            for (int i = 0; i < 9; ++i) {
                words >> x;
            }
            return x;
        }
    }
    throw ts::error("this node has no link called out; start the program with tests/ranks/links.py");
}

inline void set_rate(double bytes_per_second) {
    const auto bits = static_cast<long long>(bytes_per_second * 8);
    const std::string command = "tc qdisc replace dev out root tbf rate " + std::to_string(bits) + "bit burst " +
                                std::to_string(std::max(16384LL, bits / 2000)) + " latency 400ms";
    if (std::system(command.c_str()) != 0) {
        throw ts::error("the link's rate cannot be set: " + command);
    }
}

inline double sum_over_nodes(double mine) {
    double all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}
inline double of_first(double mine) {
    MPI_Bcast(&mine, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return mine;
}

/// The calling thread, and those that it makes, run on these cores alone, of which a node of this machine has one.
inline void run_on(long first, long count) {
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;
    CPU_ZERO(&set);
    for (long i = first; i < first + count; ++i) {
        CPU_SET(ts::to_size(i % cores), &set);
    }
    sched_setaffinity(0, sizeof set, &set);
}

} // namespace benchmarks
