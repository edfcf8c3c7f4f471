// SPDX-License-Identifier: Apache-2.0
// Delta simulation equals full simulation: random changes of random strategies for random networks on random machines,
// each lowered and simulated as a whole too, and compared bit for bit (makespan, start and end of every task, bytes
// moved). Ends when so many have been proposed to delta simulation, those not counted of which every change is
// simulated as a whole. Fails if anything differs. Usage: delta_full [proposals [first number of a network [changes of
// each]]]
#include "support/random_proposals.hpp"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    using namespace test_support;
    const long proposals = argc > 1 ? std::atol(argv[1]) : 10000;
    const long long first = argc > 2 ? std::atoll(argv[2]) : 1;
    const int each = argc > 3 ? std::atoi(argv[3]) : 40;
    if (proposals < 1 || first < 1 || each < 1) {
        std::fprintf(stderr, "usage: delta_full [proposals [first number of a network [changes of each]]]\n");
        return 2;
    }
    coverage seen;
    delta_findings found;
    auto number = static_cast<std::uint64_t>(first);
    for (std::size_t told = 0; found.compared < proposals; ++number) {
        try_proposals(number, each, seen, found);
        for (; told < found.wrong.size(); ++told) {
            std::printf("WRONG %s\n", found.wrong[told].c_str());
            std::fflush(stdout);
        }
        if (told >= 20) {
            break;
        }
    }
    std::printf("networks %lld to %llu, each with a machine, a strategy and up to %d changes of it\n", first,
                static_cast<unsigned long long>(number) - 1, each);
    std::printf(
        "splits by role: sample %d, attribute %d, parameter %d, reduction %d, coupled %d; uneven %d, cut points "
        "%d, replicas %d, partial inputs %d\n",
        seen.roles[0], seen.roles[1], seen.roles[2], seen.roles[3], seen.roles[4], seen.uneven, seen.cuts,
        seen.replicas, seen.partial);
    std::printf(
        "%ld proposals simulated by what they change (%.0f %% of their activities visited), %ld as a whole; %ld "
        "drawn break a rule\n",
        found.compared, 100 * static_cast<double>(found.visited) / static_cast<double>(found.activities), found.whole,
        found.illegal);
    std::printf("%ld kept, %ld proposed again and cut short; %ld starts and ends of tasks compared\n", found.accepted,
                found.cut_short, found.spans);
    std::printf("%ld proposals, %zu wrong\n", found.compared, found.wrong.size());
    return found.wrong.empty() ? 0 : 1;
}
