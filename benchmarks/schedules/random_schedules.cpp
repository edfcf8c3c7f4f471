// SPDX-License-Identifier: Apache-2.0
// Verification against schedules: random stages, micro-batches, splits, schedules, orders and synchronization policies,
// some of them damaged; each plan is verified, or refused by a rule, and then damaged itself: a wait dropped, two
// dependent tasks swapped, a task removed, an exchange tampered with. Usage: random_schedules [count]
#include "support/random_schedule.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

void print(const char* title, const test_support::counts_by_name& counts) {
    std::printf("%s: %d\n", title, counts.total());
    for (const auto& [name, count] : counts.rows) {
        std::printf("  %6d  %s\n", count, name.c_str());
    }
}

} // namespace

int main(int argc, char** argv) {
    using namespace test_support;
    namespace n = test_networks;
    const int schedules = argc > 1 ? std::atoi(argv[1]) : 10000;
    if (schedules < 1) {
        std::fprintf(stderr, "usage: random_schedules [count]\n");
        return 2;
    }
    const ts::graph networks[] = {ts::describe<n::mlp::network>(6),          ts::describe<n::unet::network>(4),
                                  ts::describe<n::residual_net::network>(4), ts::describe<n::two_losses::network>(6),
                                  ts::describe<n::transformer::network>(3),  ts::describe<n::lenet5::network>(4),
                                  ts::describe<n::inception::network>(4)};
    coverage seen;
    schedule_findings found;
    for (int i = 0; i < schedules; ++i) {
        try_schedule(networks[i % 7].view(), 1 + i / 7 % 4, static_cast<std::uint64_t>(i), seen, found);
    }
    std::printf("%d random schedules of 7 networks on 1 to 4 devices\n", schedules);
    print("verified", found.verified);
    print("of them, by policy", found.policies);
    print("refused", found.refused);
    for (std::size_t kind = 0; kind < found.caught.size(); ++kind) {
        std::printf("%s: %d, caught %d of plans with policies; caught ", mutations[kind], found.tried[kind],
                    found.with_policy[kind]);
        print("by rule", found.caught[kind]);
    }
    for (const std::string& w : found.wrong) {
        std::printf("WRONG %s\n", w.c_str());
    }
    std::printf("%zu wrong\n", found.wrong.size());
    return found.wrong.empty() ? 0 : 1;
}
