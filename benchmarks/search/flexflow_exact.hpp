// SPDX-License-Identifier: Apache-2.0
// Every strategy of a space simulated, and MCMC in the same space.
#pragma once

#include "benchmarks/search/flexflow_settings.hpp"
#include "tessera/search/exhaustive/simulated.hpp"
#include "tessera/search/mcmc/mcmc.hpp"

namespace flexflow {

inline void exact_one(const char* name, const ts::graph& network_of, int devices) {
    const ts::cluster on = machine(devices);
    const ts::graph_view g = network_of.view();
    search::mcmc_options o;
    o.proposals.only_blocks = o.proposals.only_regular = true;
    o.proposals.offered.with_reduction = false; // as FlexFlow's space
    std::fflush(stdout);
    const double begin = seconds();
    const search::simulated_optimum all = search::simulate_all(g, on, search::data_parallel(g, devices), o.proposals);
    const double took = seconds() - begin;
    double unrestricted = 1;
    for (int op = 0; op < g.op_count; ++op) {
        double choices = 0;
        for (const ts::configuration& c : search::enumerate(g.describe(op), devices)) {
            double ways = 1;
            for (int i = 0; i < c.shards(); ++i) {
                ways *= devices - i;
            }
            choices += ways;
        }
        unrestricted *= choices;
    }
    const auto chains = [&](bool only) {
        search::mcmc_options mine = o;
        mine.proposals.only_blocks = mine.proposals.only_regular = only;
        mine.proposals.offered.with_reduction = !only;
        mine.budget = 10'000;
        mine.patience = 10'000;
        mine.temperature = 0.02;
        const search::named_strategy data{"data parallel", search::data_parallel(g, devices)};
        const search::named_strategy single{"one device", search::single_device(g)};
        const std::vector<search::named_strategy> starts{data, single, data, single}; // all in the space
        return search::mcmc(g, on, starts, mine).cost;
    };
    const double again = seconds();
    const ts::index_t same_space = chains(true);
    const double mcmc_took = seconds() - again;
    std::printf("| %s | %d | %d | %.3g | %.4f | %.1f | %.4f | %.1f | %s | %.3g | %.4f |\n", name, devices, g.op_count,
                all.space, in_ms(all.cost), took, in_ms(same_space), mcmc_took,
                same_space == all.cost ? "reached" : "NOT REACHED", unrestricted, in_ms(chains(false)));
    std::fflush(stdout);
}

inline void exact() {
    std::printf(
        "\n## Exactness\n\nEvery layer's block in every configuration (no reduction splits) on every aligned or "
        "strided "
        "placement, all simulated; MCMC, 4 chains of "
        "10,000 proposals, in the same space, and where every operator may be split and placed by itself.\n\n| network "
        "| GPUs | operators | "
        "strategies | optimum ms | s | MCMC ms | s | optimum | strategies without restriction | MCMC there, ms |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (const int devices : {2, 4}) { // on 4 each takes minutes
        exact_one("LeNet-5, 64 samples", benchmarks::flexflow_lenet(64), devices);
        exact_one("RNNLM, 2 steps, 64 samples", benchmarks::flexflow_rnnlm_2_steps(64), devices);
    }
}

} // namespace flexflow
