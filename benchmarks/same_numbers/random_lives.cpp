// SPDX-License-Identifier: Apache-2.0
// Random lives of sessions (steps, short batches, evaluations, predictions of any layer, pruning, averages,
// checkpoints) over random networks and strategies, each compared with one device. Usage: random_lives [networks [first
// number [folder]]]
#include "support/random_lives.hpp"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

int main(int argc, char** argv) {
    using namespace test_support;
    const int networks = argc > 1 ? std::atoi(argv[1]) : 2000;
    auto number = static_cast<std::uint64_t>(argc > 2 ? std::atoll(argv[2]) : 1);
    if (networks < 1) {
        std::fprintf(stderr, "usage: random_lives [networks [first number [folder]]]\n");
        return 2;
    }
    const std::string parent = argc > 3 ? argv[3] : std::filesystem::temp_directory_path().string();
    const std::string folder = parent + "/tessera-lives-" + std::to_string(::getpid());
    life_findings found;
    std::size_t told = 0;
    for (; found.lives < networks; ++number) {
        try_life(number, folder, found);
        for (; told < found.wrong.size(); ++told) {
            std::printf("WRONG %s\n", found.wrong[told].c_str());
            std::fflush(stdout);
        }
        if (found.lives % 100 == 0 && found.lives > 0) {
            std::fprintf(stderr, "%d lives, next network %llu\n", found.lives,
                         static_cast<unsigned long long>(number + 1));
        }
    }
    std::filesystem::remove_all(folder);
    for (int e = 0; e < life_events; ++e) {
        std::printf("  %6d  %s\n", found.events[e], to_text(static_cast<life_event>(e)));
    }
    std::printf("%d lives, %d more whose strategy does not fit; %d events refused alike, rounding decides in %d, %zu "
                "wrong\n",
                found.lives, found.unfit, found.refused, found.decided_by_rounding, found.wrong.size());
    return found.wrong.empty() ? 0 : 1;
}
