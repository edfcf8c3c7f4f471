// SPDX-License-Identifier: Apache-2.0
// Small versions of all networks of the zoo, four training steps each under random strategies on 1 to 4 host devices,
// or as many as said, against one device in double. usage: zoo [strategies for each network [devices [network [divisor
// rows batch rate]]]]; the last four make it small another way.
#include "support/small_zoo.hpp"

#include "tessera/backend/host/backend.hpp"
#include "tessera/base/clock.hpp"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    using namespace test_support;
    const int strategies = argc > 1 ? std::atoi(argv[1]) : 12;
    const int devices = argc > 2 ? std::atoi(argv[2]) : 4;
    if (strategies < 1 || devices < 1) {
        std::fprintf(stderr,
                     "usage: zoo [strategies for each network [devices [network [divisor rows batch rate]]]]\n");
        return 2;
    }
    const auto make = [](const ts::optimizer& update) { return ts::host::backend(update); };
    coverage seen;
    int number = 0;
    int failures = 0;
    std::printf("%-20s %5s %9s %9s %9s %9s %9s %9s %11s %8s\n", "network", "ops", "loss", "after 3", "loss",
                "gradients", "weights", "rounding", "sensitivity", "seconds");
    for (small_network n : small_networks) {
        ++number;
        if (argc > 3 && std::string(argv[3]) != n.name) {
            continue;
        }
        if (argc > 7) {
            n.divisor = std::atoi(argv[4]);
            n.rows = std::atoi(argv[5]);
            n.batch = std::atoi(argv[6]);
            n.rate = static_cast<float>(std::atof(argv[7]));
        }
        const double begin = ts::seconds_now();
        const zoo_result r = train_small(make_small(n), strategies, number, true, seen, make, devices);
        const bool good = r.failure.empty() && r.repeats && r.last_loss < r.first_loss && r.loss <= allowed &&
                          r.gradient <= r.allowed_gradient() && r.change <= r.allowed_change();
        failures += good ? 0 : 1;
        std::printf("%-20s %5d %9.5f %9.5f %9.1e %9.1e %9.1e %9.1e %11.1e %8.2f%s %s\n", n.name, r.operators,
                    r.first_loss, r.last_loss, r.loss, r.gradient, r.change, r.rounding, r.sensitivity,
                    ts::seconds_now() - begin, good ? "" : "  FAILED", r.failure.c_str());
        std::fflush(stdout);
    }
    return failures == 0 ? 0 : 1;
}
