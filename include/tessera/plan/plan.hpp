// SPDX-License-Identifier: Apache-2.0
// The plan: tiles (regions of tensors on devices) and, for every device, an ordered list of tasks that read and write
// them; and, where communication runs beside computation, a second one.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/task.hpp"

#include <string>
#include <utility>
#include <vector>

namespace tessera {

/// Arena offsets are multiples of this many bytes, unless binding asks for more: a cache line, and the width of the
/// widest vectors.
inline constexpr index_t arena_alignment = 64;

/// Where a network's loss, or any tensor that the caller wants, lies when a run has ended.
struct result_piece {
    int tensor = -1;
    int summand = 0;
    int tile = -1;
    int step = 0;

    friend bool operator==(const result_piece&, const result_piece&) = default;

    template <class See>
    static constexpr void each_field(See&& see) {
        see("tensor", &result_piece::tensor, plan_field{});
        see("summand", &result_piece::summand, plan_field{});
        see("tile", &result_piece::tile, plan_field{.tiles = true});
        see("step", &result_piece::step, plan_field{});
    }
};

enum class run_kind : std::uint8_t { training, evaluation };

struct plan {
    run_kind kind = run_kind::training;
    int devices = 1;
    int streams =
        1; ///< lists of every device: 1, or 2 where communication runs beside computation, or 3 where there are queues
    int micro_batches = 1;
    bool joint_statistics = false;   ///< batch norms take theirs over all micro-batches together
    bool replica_statistics = false; ///< every shard of samples takes its own
    int steps_per_plan = 1;
    double loss_scale = 1;               ///< of all gradients until the optimizer takes them
    int states = 0;                      ///< numbers of the optimizer's state for each of a parameter
    bool clips = false;                  ///< gradients are clipped by their norm
    compression_setting compress;        ///< of gradients that copies of parameters exchange
    int staleness = 0;                   ///< steps whose gradients the parameters of a later one may miss
    int average_every = 0;               ///< steps after which copies of parameters are averaged; 0: never
    int output_gradient = -1;            ///< input that holds the gradient of the last operator's output, or -1
    index_t alignment = arena_alignment; ///< bytes, of places in arenas; set by binding
    std::vector<tile> tiles;
    std::vector<task> tasks; ///< in an order in which one device could run them all
    std::vector<std::vector<int>>
        order; ///< the lists: for every device its tasks; then its communication stream's; then its queue's
    std::vector<result_piece> results;     ///< losses and, in evaluation, what goes into them
    std::vector<result_piece> gradients;   ///< contributions to parameters' gradients, where asked for
    std::vector<index_t> arena_bytes;      ///< predicted peak for every device
    std::vector<index_t> persistent_bytes; ///< parameters and optimizer state
    std::vector<index_t> host_bytes;       ///< that wait in the host's memory for every device; empty: nothing does
    std::vector<index_t> host_persistent_bytes; ///< of every device's state on the host; empty: none has any
    index_t moved_bytes = 0;                    ///< that cross between devices in a run
    std::uint64_t hash = 0;

    int lists() const { return devices * streams; }
    int list_of(const task& t) const { return t.device + devices * static_cast<int>(t.stream); }
    int device_of_list(int list) const { return list % devices; }
    /// True for a list that is a queue: its tasks start when they can, the most urgent first, in whatever order that
    /// makes.
    bool is_queue(int list) const { return list >= 2 * devices; }
    bool is_queued(int t) const { return tasks[to_size(t)].stream == task_stream::queue; }

    int root(int t) const;

    friend bool operator==(const plan&, const plan&) = default;

    /// All but tiles, tasks, which have lists of their own, and the hash.
    template <class See>
    static constexpr void each_field(See&& see) {
        see("kind", &plan::kind, plan_field{});
        see("devices", &plan::devices, plan_field{});
        see("streams", &plan::streams, plan_field{});
        see("micro_batches", &plan::micro_batches, plan_field{});
        see("joint_statistics", &plan::joint_statistics, plan_field{});
        see("replica_statistics", &plan::replica_statistics, plan_field{});
        see("steps_per_plan", &plan::steps_per_plan, plan_field{});
        see("loss_scale", &plan::loss_scale, plan_field{});
        see("states", &plan::states, plan_field{});
        see("clips", &plan::clips, plan_field{});
        see("compress", &plan::compress, plan_field{});
        see("staleness", &plan::staleness, plan_field{});
        see("average_every", &plan::average_every, plan_field{});
        see("output_gradient", &plan::output_gradient, plan_field{});
        see("alignment", &plan::alignment, plan_field{});
        see("order", &plan::order, plan_field{});
        see("results", &plan::results, plan_field{.tiles = true});
        see("gradients", &plan::gradients, plan_field{.tiles = true});
        see("arena_bytes", &plan::arena_bytes, plan_field{});
        see("persistent_bytes", &plan::persistent_bytes, plan_field{});
        see("moved_bytes", &plan::moved_bytes, plan_field{});
        see("host_bytes", &plan::host_bytes, plan_field{});
        see("host_persistent_bytes", &plan::host_persistent_bytes, plan_field{});
    }
};

/// Bytes of the arenas that plans run in: for every device its own, and the host's beside it.
struct arena_sizes {
    std::vector<index_t> device;
    std::vector<index_t> host; ///< empty: nothing waits there

    arena_sizes(std::vector<index_t> device_bytes, std::vector<index_t> host_bytes = {})
        : device(std::move(device_bytes)), host(std::move(host_bytes)) {}
};
inline arena_sizes working_arenas(const plan& p) { return {p.arena_bytes, p.host_bytes}; }
/// The bytes of a tile's arena.
index_t arena_size(const plan& p, const tile& t);

/// "device 1", or "device 1's communication".
std::string text_of_list(const plan& p, int list);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/plan.inl"
#endif

#include "tessera/base/end_header.inl"
