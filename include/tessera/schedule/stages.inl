// SPDX-License-Identifier: Apache-2.0
// Bodies of stages.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/stages.hpp"

namespace tessera::schedule::detail {

TESSERA_INLINE std::vector<operator_load> sums_of(const std::vector<operator_load>& loads, std::size_t stages) {
    const auto operators = static_cast<index_t>(loads.size());
    const auto wanted = static_cast<index_t>(stages);
    if (wanted < 1 || wanted > operators) {
        const rule broken = wanted < 1 ? rule::pipeline_is_empty : rule::more_stages_than_operators;
        require(problem{broken, -1, -1, wanted, wanted < 1 ? 1 : operators});
    }
    std::vector<operator_load> until(loads.size() + 1);
    for (std::size_t i = 0; i < loads.size(); ++i) {
        const operator_load& x = loads[i];
        for (const index_t n : {x.time, x.resident_bytes, x.activation_bytes}) {
            require(n < 0 ? problem{rule::load_is_negative, static_cast<int>(i), -1, n, 0} : problem{});
        }
        until[i + 1] = {until[i].time + x.time, until[i].resident_bytes + x.resident_bytes,
                        until[i].activation_bytes + x.activation_bytes};
    }
    return until;
}

} // namespace tessera::schedule::detail

namespace tessera::schedule {

TESSERA_INLINE std::vector<int> stages_from(const graph_view& g, const std::vector<int>& first) {
    require(g, check_stage_starts(first.data(), static_cast<int>(first.size())));
    std::vector<int> stage(to_size(g.op_count), 0);
    for (std::size_t op = 0; op < stage.size(); ++op) {
        for (std::size_t k = 1; k < first.size(); ++k) {
            stage[op] += first[k] <= static_cast<int>(op) ? 1 : 0;
        }
    }
    return stage;
}

TESSERA_INLINE balanced_stages balance_stages(const std::vector<operator_load>& loads,
                                              const std::vector<stage_room>& rooms) {
    const std::vector<operator_load> until = detail::sums_of(loads, rooms.size());
    for (const stage_room& r : rooms) {
        for (const int n : {r.devices, r.resident_parts}) {
            require(n < 1 ? problem{rule::stage_without_devices, -1, -1, n, 1} : problem{});
        }
        require(r.in_flight < 0 ? problem{rule::load_is_negative, -1, -1, r.in_flight, 0} : problem{});
    }
    const auto time = [&](std::size_t s, std::size_t begin, std::size_t end) {
        return (until[end].time - until[begin].time) / rooms[s].devices;
    };
    const auto bytes = [&](std::size_t s, std::size_t begin, std::size_t end) {
        const stage_room& r = rooms[s];
        return (until[end].resident_bytes - until[begin].resident_bytes) / r.resident_parts +
               (until[end].activation_bytes - until[begin].activation_bytes) / r.devices * r.in_flight;
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
            most = std::max(most, cost(to_size(stage[begin]), begin, end));
            begin = end;
        }
        return most;
    };
    result.slowest = worst(result.stage, time);
    result.least_bytes = worst(result.leanest, bytes);
    return result;
}

TESSERA_INLINE std::vector<int> balance_stages(const std::vector<index_t>& times, int stages) {
    std::vector<operator_load> loads;
    for (const index_t t : times) {
        loads.push_back({t, 0, 0});
    }
    const std::vector<operator_load> until = detail::sums_of(loads, to_size(std::max(stages, 0)));
    return detail::best_cut(times.size(), to_size(stages), [&](std::size_t, std::size_t begin, std::size_t end) {
        return until[end].time - until[begin].time;
    });
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
