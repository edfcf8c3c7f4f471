// SPDX-License-Identifier: Apache-2.0
// Stages of a pipeline balanced by time, within the memory of their devices: cuts of the list of operators, exact by dynamic programming.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/strategy/strategy.hpp"

#include <algorithm>
#include <vector>

namespace tessera::schedule {

/// What an operator adds to its stage.
struct operator_load {
    index_t time = 0;       ///< of all micro-batches, forward and backward, in any unit
    index_t held_bytes = 0; ///< whatever the micro-batch: parameters, their gradients and the optimizer's state
    index_t kept_bytes = 0; ///< what one micro-batch leaves to backward
};

/// What a stage has.
struct stage_room {
    index_t bytes = 0;  ///< memory of each of its devices; 0: no limit
    int in_flight = 1;  ///< micro-batches whose results it keeps at a time
    int devices = 1;    ///< that share its work and what its micro-batches leave
    int held_parts = 1; ///< parts into which its parameters are divided: 1 where each of its devices has them all
};

struct balanced_stages {
    std::vector<int> stage;   ///< of every operator; empty where no cut fits
    index_t slowest = 0;      ///< time of the slowest stage
    index_t least_bytes = 0;  ///< the memory of each device with which a cut fits, if all had as much
    std::vector<int> leanest; ///< a cut that needs no more than that
};

namespace detail {

/// Where parts [cut[s], cut[s + 1]) of a list of `n` are the stages: the worst cost(s, begin, end) is as small as can be, and among such cuts
/// the sum of squares too, of those whose parts are the best of their kind; the first such cut. A part costs no less than what is within it. A negative cost is
/// no possible stage, nor is what has it within; then the result may be empty.
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
inline std::vector<operator_load> sums_of(const std::vector<operator_load>& loads, std::size_t stages) {
    const auto operators = static_cast<index_t>(loads.size());
    const auto wanted = static_cast<index_t>(stages);
    if (wanted < 1 || wanted > operators) {
        const rule broken = wanted < 1 ? rule::pipeline_is_empty : rule::more_stages_than_operators;
        require(problem{broken, -1, -1, wanted, wanted < 1 ? 1 : operators});
    }
    std::vector<operator_load> until(loads.size() + 1);
    for (std::size_t i = 0; i < loads.size(); ++i) {
        const operator_load& x = loads[i];
        for (const index_t n : {x.time, x.held_bytes, x.kept_bytes}) {
            require(n < 0 ? problem{rule::load_is_negative, static_cast<int>(i), -1, n, 0} : problem{});
        }
        until[i + 1] = {until[i].time + x.time, until[i].held_bytes + x.held_bytes, until[i].kept_bytes + x.kept_bytes};
    }
    return until;
}

} // namespace detail

/// The stage of every operator, given the first operator of each stage; what stands before the first is in stage 0, too. Throws tessera::error
/// where they are not in order.
inline std::vector<int> stages_from(const graph_view& g, const std::vector<int>& first) {
    require(g, check_stage_starts(first.data(), static_cast<int>(first.size())));
    std::vector<int> stage(static_cast<std::size_t>(g.op_count), 0);
    for (std::size_t op = 0; op < stage.size(); ++op) {
        for (std::size_t k = 1; k < first.size(); ++k) {
            stage[op] += first[k] <= static_cast<int>(op) ? 1 : 0;
        }
    }
    return stage;
}

/// The stage of every operator where the operators, in their order, are cut into as many parts as there are rooms, none empty, so that every
/// part fits its room's memory and the slowest one is as fast as can be; of several such cuts the one whose squared times add up to the
/// least. A network's operators are listed so that none reads what comes later: every such cut is a pipeline, whatever skips over it, and for
/// a chain there are no others. Throws tessera::error where there are fewer operators than stages, a number is negative, or a room has no device.
/// O(stages * operators^2) at most, and no more than O(operators^2) where times are alike.
inline balanced_stages balance_stages(const std::vector<operator_load>& loads, const std::vector<stage_room>& rooms) {
    const std::vector<operator_load> until = detail::sums_of(loads, rooms.size());
    for (const stage_room& r : rooms) {
        for (const int n : {r.devices, r.held_parts}) {
            require(n < 1 ? problem{rule::stage_without_devices, -1, -1, n, 1} : problem{});
        }
        require(r.in_flight < 0 ? problem{rule::load_is_negative, -1, -1, r.in_flight, 0} : problem{});
    }
    const auto time = [&](std::size_t s, std::size_t begin, std::size_t end) {
        return (until[end].time - until[begin].time) / rooms[s].devices;
    };
    const auto bytes = [&](std::size_t s, std::size_t begin, std::size_t end) {
        const stage_room& r = rooms[s];
        return (until[end].held_bytes - until[begin].held_bytes) / r.held_parts +
               (until[end].kept_bytes - until[begin].kept_bytes) / r.devices * r.in_flight;
    };
    balanced_stages result;
    const auto fitting = [&](std::size_t s, std::size_t begin, std::size_t end) {
        const index_t limit = rooms[s].bytes;
        return limit > 0 && bytes(s, begin, end) > limit ? -1 : time(s, begin, end);
    };
    result.stage = detail::best_cut(loads.size(), rooms.size(), fitting);
    result.leanest = detail::best_cut(loads.size(), rooms.size(), bytes);
    const auto worst = [&](const std::vector<int>& stage, const auto& cost) {
        index_t most = 0;
        for (std::size_t begin = 0; begin < stage.size();) {
            std::size_t end = begin;
            while (end < stage.size() && stage[end] == stage[begin]) {
                ++end;
            }
            most = std::max(most, cost(static_cast<std::size_t>(stage[begin]), begin, end));
            begin = end;
        }
        return most;
    };
    result.slowest = worst(result.stage, time);
    result.least_bytes = worst(result.leanest, bytes);
    return result;
}

/// The same by time alone, for stages of one device each.
inline std::vector<int> balance_stages(const std::vector<index_t>& times, int stages) {
    std::vector<operator_load> loads;
    for (const index_t t : times) {
        loads.push_back({t, 0, 0});
    }
    const std::vector<operator_load> until = detail::sums_of(loads, static_cast<std::size_t>(std::max(stages, 0)));
    return detail::best_cut(
        times.size(), static_cast<std::size_t>(stages),
        [&](std::size_t, std::size_t begin, std::size_t end) { return until[end].time - until[begin].time; });
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
