// SPDX-License-Identifier: Apache-2.0
// How the benchmarks search with MCMC: by work, which is the same on every machine, not by time.
#pragma once

#include "tessera/execute/local/search_threads.hpp"
#include "tessera/search/coarse/coarse_search.hpp"

namespace benchmarks {

/// Chains that go on while doubling their work brings something, from at least to at most so many million activities on
/// each part of the machine and on the whole (four times as many on one small node, which has no parts), `times` as
/// much.
struct search_rule {
    double least_work = 1;
    double work = 5;
    int times = 1;
    int return_after = 100;
    double temperature = 0.0005;

    tessera::search::coarse_search_options options(int devices) const {
        tessera::search::coarse_search_options o;
        tessera::search::parallel_search_options& whole = o.search;
        const auto activities = [this](double millions) { return static_cast<std::int64_t>(1e6 * millions * times); };
        whole.chain.stop = tessera::search::stop_rule::doubling;
        whole.chain.budget = o.most_proposals = 1'000'000'000; // none
        whole.chain.patience = std::int64_t{100} * times;
        whole.chain.least_work = activities(least_work);
        whole.chain.most_work = activities(devices > 4 ? work : 4 * work);
        whole.chain.return_after = return_after;
        whole.chain.temperature = temperature;
        const bool large = devices > 16; // there a chain's start alone takes up to a second
        whole.rounds = large ? 1 : 4;
        whole.far_behind = 0.05;
        whole.slow_start = 0.15;
        whole.random_starts = 0;
        whole.drop_slow_starts = true;
        whole.most_chains = large ? 2 : 4;
        whole.threads = tessera::search_threads();
        o.chains = 4;
        o.rounds = 8;
        return o;
    }
};

} // namespace benchmarks
