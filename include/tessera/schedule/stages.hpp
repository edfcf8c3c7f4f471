// SPDX-License-Identifier: Apache-2.0
// Stages of a pipeline balanced by time, within the memory of their devices: cuts of the list of operators, exact by
// dynamic programming.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/strategy/strategy.hpp"

#include <algorithm>
#include <vector>

namespace tessera::schedule {

/// What an operator adds to its stage.
struct operator_load {
    index_t time = 0;             ///< of all micro-batches, forward and backward, in any unit
    index_t resident_bytes = 0;   ///< whatever the micro-batch: parameters, their gradients and the optimizer's state
    index_t activation_bytes = 0; ///< what one micro-batch leaves to backward
};

/// What a stage has.
struct stage_room {
    index_t bytes = 0;      ///< memory of each of its devices; 0: no limit
    int in_flight = 1;      ///< micro-batches whose results it keeps at a time
    int devices = 1;        ///< that share its work and what its micro-batches leave
    int resident_parts = 1; ///< parts into which its parameters are divided: 1 where each of its devices has them all
};

struct balanced_stages {
    std::vector<int> stage;   ///< of every operator; empty where no cut fits
    index_t slowest = 0;      ///< time of the slowest stage
    index_t least_bytes = 0;  ///< the memory of each device with which a cut fits, if all had as much
    std::vector<int> leanest; ///< a cut that needs no more than that
};

namespace detail {

/// Where parts [cut[s], cut[s + 1]) of a list of `n` are the stages: the worst cost(s, begin, end) is as small as can
/// be, and among such cuts the sum of squares too, of those whose parts are the best of their kind; the first such cut.
/// A part costs no less than what is within it. A negative cost is no possible stage, nor is what has it within; then
/// the result may be empty.
template <class Cost>
std::vector<int> best_cut(std::size_t n, std::size_t stages, const Cost& cost) {
    struct sum {
        index_t worst = -1; ///< -1: impossible
        double squares = 0;
        bool is_no_more_than(const sum& o) const {
            return o.worst < 0 || (worst != o.worst ? worst < o.worst : squares <= o.squares);
        }
    };
    std::vector<sum> best(n + 1);
    std::vector<std::vector<std::size_t>> from(stages, std::vector<std::size_t>(n + 1, 0));
    best[0].worst = 0;
    for (std::size_t s = 0; s < stages; ++s) {
        std::vector<sum> next(n + 1);
        for (std::size_t i = s + 1; i + (stages - 1 - s) <= n; ++i) {
            for (std::size_t j = s == 0 ? 1 : i; j-- > s;) { // shorter parts first: the longer, the more they cost
                const index_t last = cost(s, j, i);
                if (last < 0 || (next[i].worst >= 0 && last > next[i].worst)) {
                    break;
                }
                const auto t = static_cast<double>(last);
                const sum c{std::max(best[j].worst, last), best[j].squares + t * t};
                if (best[j].worst >= 0 && c.is_no_more_than(next[i])) {
                    next[i] = c;
                    from[s][i] = j;
                }
            }
        }
        best.swap(next);
    }
    if (best[n].worst < 0) {
        return {};
    }
    std::vector<int> stage(n, 0);
    std::size_t end = n;
    for (std::size_t s = stages; s-- > 0;) {
        const std::size_t begin = from[s][end];
        std::fill(stage.begin() + static_cast<std::ptrdiff_t>(begin), stage.begin() + static_cast<std::ptrdiff_t>(end),
                  static_cast<int>(s));
        end = begin;
    }
    return stage;
}

/// Sums of the loads before every operator, checked.
std::vector<operator_load> sums_of(const std::vector<operator_load>& loads, std::size_t stages);

} // namespace detail

/// The stage of every operator, given the first operator of each stage; what stands before the first is in stage 0,
/// too. Throws tessera::error where they are not in order.
std::vector<int> stages_from(const graph_view& g, const std::vector<int>& first);

/// The stage of every operator where the operators, in their order, are cut into as many parts as there are rooms, none
/// empty, so that every part fits its room's memory and the slowest one is as fast as can be; of several such cuts the
/// one whose squared times add up to the least. A network's operators are listed so that none reads what comes later:
/// every such cut is a pipeline, whatever skips over it, and for a chain there are no others. Throws tessera::error
/// where there are fewer operators than stages, a number is negative, or a room has no device. O(stages * operators^2)
/// at most, and no more than O(operators^2) where times are alike.
balanced_stages balance_stages(const std::vector<operator_load>& loads, const std::vector<stage_room>& rooms);

/// The same by time alone, for stages of one device each.
std::vector<int> balance_stages(const std::vector<index_t>& times, int stages);

} // namespace tessera::schedule

#ifndef TESSERA_COMPILED
#include "tessera/schedule/stages.inl"
#endif

#include "tessera/base/end_header.inl"
