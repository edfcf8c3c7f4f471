// SPDX-License-Identifier: Apache-2.0
// Random networks of all kinds of operators, each under a random strategy, schedule and synchronization policy: two
// steps, an evaluation, a short batch, its evaluation and a third step on host devices against one device in double.
// Formats and implementations are estimated in even pairs and random in odd ones.
// Usage: random_networks [networks [pairs of each [first number [reference]]]]; with `reference` on the reference
// backend.
#include "support/host_formats.hpp"
#include "support/random_pairs.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    using namespace test_support;
    const int networks = argc > 1 ? std::atoi(argv[1]) : 2000;
    const int each = argc > 2 ? std::atoi(argv[2]) : 1;
    if (networks < 1 || each < 1) {
        std::fprintf(stderr, "usage: random_networks [networks [pairs of each [first number [reference]]]]\n");
        return 2;
    }
    const bool plain = argc > 4;
    auto number = static_cast<std::uint64_t>(argc > 3 ? std::atoll(argv[3]) : 1);
    pair_findings found;
    std::size_t told = 0;
    while (found.networks < networks) {
        if (plain) {
            try_pairs<ts::reference::backend>(number++, each, found, [](const ts::optimizer& update, std::uint64_t) {
                return ts::reference::backend(update);
            });
        } else {
            try_pairs<ts::reference::backend>(number++, each, found,
                                              [](const ts::optimizer& update, std::uint64_t seed) {
                                                  return host_in_formats_of(update, static_cast<int>(seed % 1000003));
                                              });
        }
        for (; told < found.wrong.size(); ++told) {
            std::printf("WRONG %s\n", found.wrong[told].c_str());
            std::fflush(stdout);
        }
    }
    std::printf("%d networks, %d more that rounding alone takes elsewhere; operators of", found.networks,
                found.unusable);
    for (int k = 0; k < op_kinds; ++k) {
        std::printf(" %s %d", ts::library_operators[k]->name, found.kinds[ts::to_size(k)]);
    }
    std::printf("\nlargest relative differences: loss %.1e, gradients %.1e, changes of weights %.1e; %d pairs in which "
                "rounding decides\n",
                found.worst.loss, found.worst.gradient, found.worst.change, found.decided_by_rounding);
    for (const auto& [rule, count] : found.refused.rows) {
        std::printf("  %6d refused: %s\n", count, rule.c_str());
    }
    for (const std::string& r : found.rough) {
        std::printf("rough, like one device of this backend: %s\n", r.c_str());
    }
    std::printf("%d pairs, %d refused, %zu rough, %zu wrong\n", found.pairs, found.refused.total(), found.rough.size(),
                found.wrong.size());
    return found.wrong.empty() ? 0 : 1;
}
