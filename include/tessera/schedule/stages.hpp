// SPDX-License-Identifier: Apache-2.0
// Stages of a pipeline balanced by time: cuts of the list of operators, exact by dynamic programming.
#pragma once

#include "tessera/base/box.hpp"
#include "tessera/base/error.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace tessera::schedule {

/// The stage of every operator where the operators, in their order, are cut into `stages` pieces, none empty, so that the slowest piece is as fast
/// as can be; of several such cuts the one whose squared times add up to the least. A network's operators are listed so that none reads what
/// comes later: every such cut is a pipeline, whatever skips over it, and for a chain there are no others. Throws tessera::error where there are
/// fewer operators than stages, or a time is negative. O(stages * operators^2).
inline std::vector<int> balance_stages(const std::vector<index_t>& times, int stages) {
    const std::size_t n = times.size();
    if (stages < 1 || static_cast<std::size_t>(stages) > n) {
        throw error("tessera: " + std::to_string(n) + " operators make no " + std::to_string(stages) +
                    " stages; every stage needs one");
    }
    std::vector<index_t> until(n + 1, 0);
    for (std::size_t i = 0; i < n; ++i) {
        if (times[i] < 0) {
            throw error("tessera: operator " + std::to_string(i) + " takes " + std::to_string(times[i]) +
                        "; a time is at least 0");
        }
        until[i + 1] = until[i] + times[i];
    }
    struct cost {
        index_t worst = 0;
        double squares = 0;
        bool less_than(const cost& o) const { return worst != o.worst ? worst < o.worst : squares < o.squares; }
    };
    // The worst time is exact; among cuts of one worst time the squares are those of cuts whose parts are the best of their kind.
    const auto k = static_cast<std::size_t>(stages);
    std::vector<cost> best(n + 1);
    std::vector<std::vector<std::size_t>> from(k, std::vector<std::size_t>(n + 1, 0));
    for (std::size_t i = 1; i <= n; ++i) {
        const auto t = static_cast<double>(until[i]);
        best[i] = {until[i], t * t};
    }
    for (std::size_t s = 1; s < k; ++s) {
        std::vector<cost> next(n + 1);
        for (std::size_t i = s + 1; i <= n; ++i) {
            for (std::size_t j = s; j < i; ++j) {
                const index_t last = until[i] - until[j];
                const auto t = static_cast<double>(last);
                const cost c{std::max(best[j].worst, last), best[j].squares + t * t};
                if (j == s || c.less_than(next[i])) {
                    next[i] = c;
                    from[s][i] = j;
                }
            }
        }
        best.swap(next);
    }
    std::vector<int> stage(n, 0);
    std::size_t end = n;
    for (std::size_t s = k; s-- > 0;) {
        const std::size_t begin = s > 0 ? from[s][end] : 0;
        std::fill(stage.begin() + static_cast<std::ptrdiff_t>(begin), stage.begin() + static_cast<std::ptrdiff_t>(end),
                  static_cast<int>(s));
        end = begin;
    }
    return stage;
}

} // namespace tessera::schedule
