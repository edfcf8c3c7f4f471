// SPDX-License-Identifier: Apache-2.0
// The plan: tiles (regions of tensors on devices) and, for every device, an ordered list of tasks that read and write
// them; and, where communication runs beside computation, a second one.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/strategy.hpp"
#include "tessera/task/compute.hpp"

#include <string>
#include <vector>

namespace tessera {

enum class tile_kind : std::uint8_t {
    input,        ///< what the caller hands in; lies on no device (device -1)
    activation,   ///< output of an operator, or a redistributed part of it
    gradient,     ///< gradient of an activation
    intermediate, ///< between the nests of an operator
    intermediate_gradient,
    parameter, ///< persistent
    parameter_gradient,
    optimizer_state, ///< persistent; a flat slice of `elements` numbers for each state of the optimizer
    /// one double, a squared norm of gradients; or two, a parameter's squares and those of its gradient or update
    scalar,
    scratch,  ///< working memory of one task, or what forward leaves to backward besides its output
    residual, ///< persistent; what a device has left out of a parameter's gradients when it compressed them
    code,     ///< a compressed gradient: `elements` words, of all of the region
};

constexpr const char* to_text(tile_kind k) {
    constexpr const char* names[] = {"input",
                                     "activation",
                                     "gradient",
                                     "intermediate",
                                     "intermediate_gradient",
                                     "parameter",
                                     "parameter_gradient",
                                     "optimizer_state",
                                     "scalar",
                                     "scratch",
                                     "residual",
                                     "code"};
    return names[static_cast<int>(k)];
}

constexpr bool is_persistent(tile_kind k) {
    return k == tile_kind::parameter || k == tile_kind::optimizer_state || k == tile_kind::residual;
}

/// A region of a tensor on a device.
struct tile {
    tile_kind kind = tile_kind::activation;
    int tensor = -1; ///< tensor, parameter, or (intermediates) operator * max_operands + operand
    box region;
    int device = 0;
    element type = element::f32;
    int alias = -1;    ///< shares the memory of this tile, same elements in the same order
    bool keep = false; ///< still needed when the run has ended
    int part = -1;     ///< which summand of its tensor it holds; -1: the sum of all, which a task gathered
    int origin =
        -1; ///< set by binding: the tile whose elements it repeats, region by region, on its way to another device
    int micro_batch = 0; ///< whose values it holds
    int replica = 0; ///< of a batch norm's statistics that every shard of samples takes by itself: that shard's place
    int step = 0;    ///< of a plan of several, whose values it holds
    index_t elements = 0; ///< optimizer_state: numbers in it; otherwise the region's volume, or that of the slice
    int slice = 0; ///< which of `slices` equal slices of the region's elements it holds, in the order of its format
    int slices = 1;

    // Set by binding.
    int format = 0; ///< memory format of the backend; 0 is plain, last dimension fastest
    index_t bytes = 0;
    index_t offset = -1; ///< in the device's arena, or in its persistent arena
};

enum class task_kind : std::uint8_t {
    compute, ///< a pass of an operator's shard
    copy,    ///< fills a tile from regions of others
    reorder, ///< changes the memory format
    reduce,  ///< sums a slice of a parameter's gradient contributions, and their squares where gradients are clipped
    update,  ///< optimizer step on a slice of a parameter, written to every copy of it
    /// writes the sum of what it reads, in that order: over micro-batches. It may read what it writes, to add to it
    sum,
    gather,  ///< joins the slices of a parameter, in their order, to a whole tile
    average, ///< writes the average of a slice of all copies of a parameter to each of them
    /// squares of a slice of a parameter, and of its gradient or of its update, for the norms that scale its steps
    norm,
    /// writes the code of a device's gradient of a parameter and of what it left out so far, which is its `state`
    compress,
    decompress, ///< writes the sum of the codes that it reads of a parameter's gradient, in that order
};

constexpr const char* to_text(task_kind k) {
    constexpr const char* names[] = {"compute", "copy",    "reorder", "reduce",   "update",    "sum",
                                     "gather",  "average", "norm",    "compress", "decompress"};
    return names[static_cast<int>(k)];
}

struct copy_segment {
    int source = 0; ///< tile
    box region;
    bool overwrite = true; ///< otherwise reduces into what is there
};

/// The point in another list that a task waits for: until the first `count` tasks of list `list` have finished. Lists
/// are numbered as in plan::order.
struct wait_for {
    int list = 0;
    int count = 0;
};

/// Which of its device's lists a task is in.
enum class task_stream : std::uint8_t {
    compute,       ///< of a plan with one stream, everything
    communication, ///< copies, sums of gradients and updates that run beside the computation
    queue, ///< pushes to a server, its updates and pulls: no list, but a queue in which the most urgent goes first
};

constexpr const char* to_text(task_stream l) {
    constexpr const char* names[] = {"compute", "communication", "queue"};
    return names[static_cast<int>(l)];
}

/// One parameter of a task that sums or updates several, of one message. Its tiles are those of the task from where the
/// part before it ends.
struct task_part {
    int parameter = -1;
    int reads = 0;  ///< where its own end among task::reads; what follows the last part's is read for all of them
    int writes = 0; ///< where its own end among task::writes
    int state = -1; ///< tile of the optimizer's state, or -1
};

/// The region by which a scalar tile of two numbers is known.
inline constexpr box layer_norm_region{1, {{0, 2}}};

/// One task. Its key is (op, what, shard, micro_batch).
struct task {
    task_kind kind = task_kind::compute;
    int op = -1;
    pass what = pass::forward;
    int shard_number = 0;
    int micro_batch = 0;
    int step = 0;
    int device = 0;
    task_stream stream = task_stream::compute;
    std::vector<int> reads;  ///< tiles
    std::vector<int> writes; ///< tiles

    // compute
    int first_nest = 0;
    int last_nest = 0;
    std::uint32_t emits = 0;
    bool first_part = true;
    interval ranges[max_loops];
    int value[max_operands];    ///< tile of every operand, or -1
    int gradient[max_operands]; ///< tile of every operand's gradient, or -1
    index_t samples = 0;        ///< that a shard's own statistics are taken over; 0: the micro-batch's, or the batch's
    int running = -1;           ///< pass update of a batch norm: the tile of running statistics that it updates

    // copy
    std::vector<copy_segment> segments;
    bool clear = false;
    reducer reduce = reducer::sum;

    // reduce, update, norm: `reads` are the gradient contributions in order of summation; slice `slice` of `slices` of
    // the flat tile
    int parameter = -1;
    std::vector<task_part> parts; ///< where it is of several parameters: each; `parameter` is the first's then
    int slice = 0;                ///< of every parameter
    int slices = 1;
    int state =
        -1; ///< tile of the optimizer's state, or of a residual, or -1; of several parameters the parts have them
    std::vector<int> norms; ///< scalar tiles: reduce writes the one, update and norm read them all to clip
    /// Scalar tiles of two: a norm writes one for each of its parameters, an update reads all of its parameters.
    std::vector<int> layer_norms;
    std::vector<box> counted_elsewhere; ///< parts of the region whose squares another task counts
    double scale = 1;                   ///< of the gradients of an update by those of its own device alone: its copies
    exchange how = exchange::sliced;    ///< that it is part of
    int message =
        -1; ///< tasks of one number follow each other and make one collective; -1: none, or a parameter's by itself

    bool late =
        false; ///< it waits for all that the devices from which it takes compute before it, see sync_time::after_backward

    int implementation = 0; ///< set by binding: the backend's number for how the task is computed
    bool fused = false;     ///< set by binding: the task that writes what it reads does its work too, in place
    bool activates = false; ///< set by binding: it does the work of such a task
    bool beside = false;    ///< set by binding: its own calls go to its GPU beside the list, see issue_from_one_list()
    int flag =
        -1; ///< set by binding: tile that counts losses that are not finite: a loss adds its own, what changes parameters reads it
    int scratch = -1;   ///< set by binding: tile of working memory, or -1
    int workspace = -1; ///< set by binding: tile that forward leaves to backward beside its output, or -1

    std::vector<wait_for> waits;
    std::vector<int> after; ///< tasks in queues that it waits for, each by itself: there a later one may end earlier
    int priority =
        -1; ///< in a queue: the least goes first, of equal ones the first in the plan's order; -1: not in a queue
    int position = -1; ///< in its list

    task();
};

/// The elements of a tile that a task touches: its slice, if it has one; a tile that is itself that slice is touched
/// whole.
constexpr interval slice_of(const tile& x, const task& t) {
    return x.slices > 1 || t.slices < 2 ? interval{0, x.elements} : even_part(x.elements, t.slices, t.slice);
}

/// Arena offsets are multiples of this many bytes, unless binding asks for more: a cache line, and the width of the
/// widest vectors.
inline constexpr index_t arena_alignment = 64;

/// Where a network's loss, or any tensor that the caller wants, lies when a run has ended.
struct result_piece {
    int tensor = -1;
    int part = 0;
    int tile = -1;
    int step = 0;
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
    int period = 1;
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
    index_t moved_bytes = 0;               ///< that cross between devices in a run
    std::uint64_t hash = 0;

    int lists() const { return devices * streams; }
    int list_of(const task& t) const { return t.device + devices * static_cast<int>(t.stream); }
    int device_of_list(int list) const { return list % devices; }
    /// True for a list that is a queue: its tasks start when they can, the most urgent first, in whatever order that
    /// makes.
    bool is_queue(int list) const { return list >= 2 * devices; }
    bool is_queued(int t) const { return tasks[static_cast<std::size_t>(t)].stream == task_stream::queue; }

    int root(int t) const;
};

/// "device 1", or "device 1's communication".
std::string text_of_list(const plan& p, int list);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/plan.inl"
#endif

#include "tessera/base/end_header.inl"
