// SPDX-License-Identifier: Apache-2.0
// Verification against damage: plans of random networks under random strategies, schedules and policies, each with one
// number, entry or task that is wrong: refused by the verifier, or run (in three orders that its lists allow, each in a
// process of its own) and compared with the plan as it was. Usage: random_damage [networks [damages of each [first
// number]]]
#include "support/random_damage.hpp"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    using namespace test_support;
    const int networks = argc > 1 ? std::atoi(argv[1]) : 1000;
    const int each = argc > 2 ? std::atoi(argv[2]) : 120;
    auto number = static_cast<std::uint64_t>(argc > 3 ? std::atoll(argv[3]) : 1);
    if (networks < 1 || each < 1) {
        std::fprintf(stderr, "usage: random_damage [networks [damages of each [first number]]]\n");
        return 2;
    }
    damage_findings found;
    std::size_t told = 0;
    while (found.networks < networks) {
        damage_plans(number++, each, found);
        for (; told < found.wrong.size(); ++told) {
            std::printf("WRONG %s\n", found.wrong[told].c_str());
            std::fflush(stdout);
        }
    }
    std::printf("refused, by what was damaged:\n");
    for (const auto& [name, count] : found.refused.rows) {
        std::printf("  %6d  %s\n", count, name.c_str());
    }
    std::printf("refused, by rule:\n");
    for (const auto& [name, count] : found.rules.rows) {
        std::printf("  %6d  %s\n", count, name.c_str());
    }
    std::printf(
        "%d networks, %d more whose strategy does not fit; %d damages, %d refused, %d accepted and right, %zu wrong\n",
        found.networks, found.unfit, found.damages, found.refused.total(), found.right, found.wrong.size());
    return found.wrong.empty() ? 0 : 1;
}
