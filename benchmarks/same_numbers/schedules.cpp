// SPDX-License-Identifier: Apache-2.0
// The numbers of one device under every schedule: LeNet-5, a residual net, a U-Net and a Transformer on 1 to 4 devices
// of the host, after three steps, against one device in double that runs the same micro-batches. Ends with 1 if one of
// them differs.
#include "support/every_schedule.hpp"
#include "support/host_formats.hpp"

#include <cstdio>

int main() {
    using namespace test_support;
    std::printf("%-18s %-22s %11s %11s %11s %11s   largest relative difference on 1 to 4 devices\n", "network",
                "schedule", "1", "2", "3", "4");
    int combinations = 0;
    int failures = 0;
    int run = 0;
    sweep_schedules(
        0, 1, [&](const ts::optimizer& update) { return host_in_formats_of(update, run++ / 2); },
        [&](const sweep_case& c, const named_schedule& s, int devices, const sweep_result& r) {
            const double worst = std::max({r.seen.loss, r.seen.gradient, r.seen.change});
            const bool good = r.failure.empty() && r.repeats && r.seen.copies_equal && worst <= allowed_rounding;
            ++combinations;
            failures += good ? 0 : 1;
            if (devices == 1) {
                std::printf("%-18s %-22s", c.name.c_str(), s.name.c_str());
            }
            std::printf(" %11.2e%s%s", worst, good ? "" : " WRONG ", r.failure.c_str());
            if (devices == 4) {
                std::printf("\n");
                std::fflush(stdout);
            }
        });
    std::printf("%d combinations, %d wrong\n", combinations, failures);
    return failures == 0 ? 0 : 1;
}
