// SPDX-License-Identifier: Apache-2.0
// Two pipelines in opposite directions: Li and Hoefler, "Chimera" (SC 2021).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/mask.hpp"
#include "tessera/schedule/record.hpp"
#include "tessera/schedule/typed_pipeline.hpp"

#include <array>

namespace tessera::schedule {

namespace detail {

/// Which of the actions that could be taken now a list scheduler takes: the one of the smallest rank. A backward action
/// ranks by its micro-batch, one forward comes `forward_waits` micro-batches later, and of each worker's own accord
/// every micro-batch up to `spread` later, as drawn from `seed`.
struct action_preference {
    int begun = 0; ///< micro-batches of each direction that have begun and not ended, at most
    int forward_waits = 0;
    int spread = 0;
    bool enters_last = false; ///< a micro-batch begins only where nothing else can be done
    std::uint64_t seed = 0;
};

/// Gives two opposite pipelines' workers their actions one by one, in time.
class opposite_pipelines {
public:
    opposite_pipelines(int stages, int micro_batches, const action_times& times, const action_preference& preference);

    /// The actions of every worker; a micro-batch of odd number is mirrored.
    std::vector<std::vector<action>> run();
    index_t makespan() const { return makespan_; }
    /// Actions that were looked at.
    index_t work() const { return work_; }

private:
    static constexpr int grain = 64; ///< ranks between two micro-batches

    std::size_t slots() const { return to_size(stages_) * to_size(count_); }
    std::size_t slot(int stage, int m) const { return to_size(stage) * to_size(count_) + to_size(m); }
    bool ended(index_t end) const { return end >= 0 && end <= now_; }

    /// A number drawn for a worker, micro-batch and direction.
    int drawn(int worker, int m, bool forward) const;

    bool place(int w, std::vector<action>& list);

    int stages_;
    int count_;
    action_times times_;
    action_preference how_;
    std::vector<index_t> forward_; ///< ends
    std::vector<index_t> backward_;
    std::vector<index_t> free_;
    std::vector<int> begun_; ///< and not ended
    std::array<int, 2> next_{0, 1};
    std::array<int, 2> alive_{};
    index_t now_ = 0;
    index_t makespan_ = 0;
    index_t work_ = 0;
};

/// What is tried, and when it is enough.
inline constexpr int chimera_draws = 200;
inline constexpr index_t chimera_work = 2'000'000;

} // namespace detail

constexpr problem check_chimera(int stages, int micro_batches, const action_times& times = {}) {
    if (const problem p = check_pipeline(stages, stages, micro_batches)) {
        return p;
    }
    if (stages % 2 != 0 || micro_batches % 2 != 0) {
        return {rule::chimera_in_pairs, -1, -1, stages % 2 != 0 ? stages : micro_batches, 2};
    }
    return check_times(times);
}

/// Half of the micro-batches run down the workers and half, on mirrored replicas, up them; D stages and N
/// micro-batches, both even. Actions are placed by a list scheduler for the times given: of its orders (how many
/// micro-batches may have begun, whether forward waits for backward, and, for more than D micro-batches, up to 200
/// drawn ones, fewer for large pipelines) the one that ends first. The same call makes the same schedule.
///
/// For N = D the idle share is (D-2)/(3D-2) for Tb = Tf and (D-2)/(2.5D-2) for Tb = 2 Tf, with up to D micro-batches in
/// flight. For N a multiple of D and Tb = Tf it is (D-2)/(2N+D-2), as if units of D ran into each other without a gap,
/// which nothing can better. Where Tb > Tf they leave gaps, and more micro-batches are begun: up to 2D are in flight on
/// a worker (14 of 24 with 8 workers and Tb = 2 Tf), where the paper's concatenated units keep to D and take longer.
/// Over the best that ten thousand drawn orders of a scheduler of its own find for 4 to 8 workers
/// (tests/schedule/walks.cpp), N = 3D and more take at most 3 % longer, N = 2D up to 7 % with Tb = 2 Tf and 16 % with 3
/// Tf, and N that is no multiple of D up to 8 %.
///
/// Parameters lie on two devices each. A timetable ends with the last backward action; a plan then sums the two
/// replicas' gradients of every stage, which takes what an exchange between its two devices takes, the last one after
/// the last action (tests/simulate/latency.cpp).
pipeline_schedule chimera(int stages, int micro_batches, const action_times& times = {});

inline constexpr schedule_record chimera_record{
    .name = "chimera",
    .title = "Chimera",
    .about = "two pipelines in opposite directions over the same workers",
    .make = [](const settings& x, const action_times& times) { return chimera(x.workers, x.micro_batches, times); },
    .check = [](const settings& x) { return check_chimera(x.workers, x.micro_batches); },
    .mirrors = true,
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: pipeline<chimera<>>, for actions that take the times given.
template <class Times = action_takes<>>
struct chimera : schedule::detail::one_stage_each {
    static constexpr problem check(int stages, int micro_batches) {
        return schedule::check_chimera(stages, micro_batches, Times::value);
    }
    static constexpr schedule_facts facts(int stages, int micro_batches) {
        return {stages, micro_batches, rule::joint_statistics_mirrored};
    }
    static pipeline_schedule make(int stages, int micro_batches) {
        return schedule::chimera(stages, micro_batches, Times::value);
    }
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/chimera.inl"
#endif

#include "tessera/base/end_header.inl"
