// SPDX-License-Identifier: Apache-2.0
// Random networks of all kinds of operators, each under random strategies, schedules and policies, against one device
// in double, for some seconds; whatever is wrong ends it with 1, after the operators of its network have run by
// themselves, as tests/op_test does. Usage: fuzz_networks SECONDS [SEED [reference]]; with `reference` on the reference
// backend. Run it under sanitizers; benchmarks/same_numbers/random_networks runs thousands without.
#ifdef TESSERA_TEST_HOST
#include "support/host_formats.hpp"
#endif
#include "op_test/runner.hpp"
#include "support/random_pairs.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

/// Which of a network's operators are wrong by themselves, and how to repeat that.
void alone(std::uint64_t network, [[maybe_unused]] bool plain) {
    op_test::options o;
    o.networks = {network, network};
    o.seeds = {1, 8};
    o.quiet = true;
#ifdef TESSERA_TEST_HOST
    if (!plain) {
        op_test::run(o, "tessera_op_test", {op_test::host_backend()});
        return;
    }
#endif
    op_test::run(o, "tessera_op_test", {op_test::reference_backend()});
}

} // namespace

int main(int argc, char** argv) {
    using namespace test_support;
    const double seconds = argc > 1 ? std::atof(argv[1]) : 0;
    if (seconds <= 0) {
        std::fprintf(stderr, "usage: fuzz_networks SECONDS [SEED [reference]]\n");
        return 2;
    }
    const auto seed = static_cast<std::uint64_t>(argc > 2 ? std::atoll(argv[2]) : 1);
    const bool plain = argc > 3;
    const auto begin = std::chrono::steady_clock::now();
    pair_findings found;
    std::uint64_t number = seed * 1000000;
    while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds) {
#ifdef TESSERA_TEST_HOST
        if (!plain) {
            try_pairs<ts::reference::backend>(number++, 2, found, [](const ts::optimizer& update, std::uint64_t pair) {
                return host_in_formats_of(update, static_cast<int>(pair % 1000003));
            });
            continue;
        }
#endif
        try_pairs<ts::reference::backend>(number++, 2, found, [](const ts::optimizer& update, std::uint64_t) {
            return ts::reference::backend(update);
        });
    }
    for (const std::string& w : found.wrong) {
        std::printf("WRONG %s\n", w.c_str());
    }
    for (const std::uint64_t wrong : found.wrong_networks) {
        std::printf("operators of network %llu by themselves:\n", static_cast<unsigned long long>(wrong));
        std::fflush(stdout);
        alone(wrong, plain);
    }
    int kinds = 0;
    for (const int of : found.kinds) {
        kinds += of > 0 ? 1 : 0;
    }
    std::printf("fuzz_networks%s, seed %llu: %d networks of %d kinds of operators, %d pairs, %d refused, %zu wrong\n",
                plain ? " on the reference backend" : "", static_cast<unsigned long long>(seed), found.networks, kinds,
                found.pairs, found.refused.total(), found.wrong.size());
    return found.wrong.empty() && found.pairs > 0 ? 0 : 1;
}
