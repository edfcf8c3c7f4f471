// SPDX-License-Identifier: Apache-2.0
// Large steps of the primal search: a random part of the core, with its trees, is chosen anew at once, under prices of
// memory that rise where the result would pass the limit, and kept where the whole gets better.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/assignment.hpp"
#include "tessera/search/certified/neighbourhood.hpp"
#include "tessera/search/random_numbers.hpp"

namespace tessera::search::detail {

class improver {
public:
    improver(const reduced_problem& p, const split_graph& g, const edge_lists& edges, const std::vector<int>& start,
             std::uint32_t seed);

    const assignment& now() const { return now_; }

    void restart(const std::vector<int>& from);

    /// Steps until about `most_work` cells were computed, or `stop()` says so.
    template <class Stop>
    void run(std::int64_t most_work, const std::vector<double>& prices, double bound, const Stop& stop) {
        std::vector<double> sum(prices.size() + 1, 0.0);
        for (std::size_t t = 0; t < prices.size(); ++t) {
            sum[t + 1] = sum[t] + prices[t];
        }
        const double whole = sum.back() > 0
                                 ? sum.back()
                                 : std::max(1.0, bound) / static_cast<double>(std::max<std::int64_t>(1, p_.limit));
        for (std::int64_t work = 0; work < most_work && !g_.core.empty() && !stop();) {
            grow();
            part_solver_.choose(part_, 20'000);
            work += 2000 + static_cast<std::int64_t>(20 * part_.size());
            work += step(sum, whole);
        }
    }

private:
    std::size_t below(std::size_t n) { return to_size(pick_(static_cast<int>(n))); }

    /// A connected part of the core, of 8 to 1024 nodes; where memory is short from somebody who is live then.
    void grow();

    std::int64_t step(const std::vector<double>& sum, double whole);

    const reduced_problem& p_;
    const split_graph& g_;
    const edge_lists& edges_;
    assignment now_;
    neighbourhood part_solver_;
    std::vector<int> choice_; ///< as now_ between steps
    std::vector<int> part_;
    std::vector<char> chosen_;
    random_numbers pick_;
};

} // namespace tessera::search::detail

#ifndef TESSERA_COMPILED
#include "tessera/search/certified/improve.inl"
#endif

#include "tessera/base/end_header.inl"
