// SPDX-License-Identifier: Apache-2.0
// Tasks: what a plan has devices do. A task has the fields of all tasks and those of its kind.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/tile.hpp"
#include "tessera/strategy/strategy.hpp"
#include "tessera/task/compute.hpp"

#include <cstddef>
#include <variant>
#include <vector>

namespace tessera {

enum class task_kind : std::uint8_t {
    compute, ///< a pass of an operator's shard
    copy,    ///< fills a tile from regions of others
    reorder, ///< changes the memory format
    reduce,  ///< sums a slice of a parameter's gradient contributions, and their squares where gradients are clipped
    update,  ///< optimizer step on a slice of a parameter, written to every copy of it
    /// writes the sum of what it reads, in that order: over micro-batches. It may read what it writes, to add to it
    sum,
    gather, ///< joins the slices of a parameter, in their order, to a whole tile
    /// writes the average of a slice of all copies of a parameter to each of them, or that of the host's copy, which it
    /// brings up
    average,
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

/// A region that a copy takes from a tile.
struct copy_segment {
    int source = 0; ///< tile
    box region;
    bool overwrite = true; ///< otherwise reduces into what is there

    friend bool operator==(const copy_segment&, const copy_segment&) = default;

    template <class See>
    static constexpr void each_field(See&& see) {
        see("source", &copy_segment::source, plan_field{.tiles = true});
        see("region", &copy_segment::region, plan_field{});
        see("overwrite", &copy_segment::overwrite, plan_field{});
    }
};

/// The point in another list that a task waits for: until the first `count` tasks of list `list` have finished. Lists
/// are numbered as in plan::order.
struct wait_for {
    int list = 0;
    int count = 0;

    friend bool operator==(const wait_for&, const wait_for&) = default;

    template <class See>
    static constexpr void each_field(See&& see) {
        see("list", &wait_for::list, plan_field{});
        see("count", &wait_for::count, plan_field{});
    }
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
struct task_parameter {
    int parameter = -1;
    int reads = 0;  ///< where its own end among task::reads; what follows the last part's is read for all of them
    int writes = 0; ///< where its own end among task::writes
    int state = -1; ///< tile of the optimizer's state, or -1

    friend bool operator==(const task_parameter&, const task_parameter&) = default;

    template <class See>
    static constexpr void each_field(See&& see) {
        see("parameter", &task_parameter::parameter, plan_field{});
        see("reads", &task_parameter::reads, plan_field{});
        see("writes", &task_parameter::writes, plan_field{});
        see("state", &task_parameter::state, plan_field{.tiles = true, .none = true});
    }
};

/// What tasks of all kinds have. A task's key is (op, what, shard_number, micro_batch).
struct common_fields {
    int op = -1;
    pass what = pass::forward;
    int shard_number = 0;
    int micro_batch = 0;
    int step = 0;
    int device = 0;
    task_stream stream = task_stream::compute;
    std::vector<int> reads;  ///< tiles
    std::vector<int> writes; ///< tiles
    /// It waits for all that the devices from which it takes compute before it, see sync_time::after_backward.
    bool late = false;

    // Set by binding.
    bool side_stream = false; ///< its own calls go to its GPU beside the list, see issue_from_one_list()
    /// Tile that counts losses that are not finite: a loss adds its own, what changes parameters reads it; or -1.
    int nonfinite_count = -1;
    int scratch = -1; ///< tile of working memory, or -1

    std::vector<wait_for> waits;
    std::vector<int> after; ///< tasks in queues that it waits for, each by itself: there a later one may end earlier
    /// In a queue: the least goes first, of equal ones the first in the plan's order; -1: not in a queue.
    int priority = -1;
    int position = -1; ///< in its list

    friend bool operator==(const common_fields&, const common_fields&) = default;

    template <class See>
    static constexpr void each_field(See&& see) {
        see("op", &common_fields::op, plan_field{});
        see("what", &common_fields::what, plan_field{});
        see("shard_number", &common_fields::shard_number, plan_field{});
        see("micro_batch", &common_fields::micro_batch, plan_field{});
        see("step", &common_fields::step, plan_field{});
        see("device", &common_fields::device, plan_field{});
        see("stream", &common_fields::stream, plan_field{});
        see("reads", &common_fields::reads, plan_field{.tiles = true, .by_parameter = true});
        see("writes", &common_fields::writes, plan_field{.tiles = true, .by_parameter = true});
        see("late", &common_fields::late, plan_field{});
        see("side_stream", &common_fields::side_stream, plan_field{});
        see("nonfinite_count", &common_fields::nonfinite_count, plan_field{.tiles = true, .none = true});
        see("scratch", &common_fields::scratch, plan_field{.tiles = true, .none = true});
        see("waits", &common_fields::waits, plan_field{.by_parameter = true});
        see("after", &common_fields::after, plan_field{.by_parameter = true});
        see("priority", &common_fields::priority, plan_field{});
        see("position", &common_fields::position, plan_field{});
    }
};

/// A number of a tile for each operand of an operator; -1: none.
class operand_tiles {
public:
    constexpr operand_tiles() : tile_() {
        for (int& t : tile_) {
            t = -1;
        }
    }
    constexpr int& operator[](int o) { return tile_[o]; }
    constexpr const int& operator[](int o) const { return tile_[o]; }
    constexpr int& operator[](std::size_t o) { return tile_[o]; }
    constexpr const int& operator[](std::size_t o) const { return tile_[o]; }
    constexpr int* data() { return tile_; }
    constexpr const int* data() const { return tile_; }
    constexpr int* begin() { return tile_; }
    constexpr const int* begin() const { return tile_; }
    constexpr int* end() { return tile_ + max_operands; }
    constexpr const int* end() const { return tile_ + max_operands; }
    static constexpr std::size_t size() { return max_operands; }

    friend constexpr bool operator==(const operand_tiles&, const operand_tiles&) = default;

private:
    int tile_[max_operands];
};

/// What compute has.
struct compute_fields {
    int first_nest = 0;
    int last_nest = 0;
    std::uint32_t emits = 0;
    bool first_part = true;
    interval ranges[max_loops];
    operand_tiles value;    ///< of every operand
    operand_tiles gradient; ///< of every operand's gradient
    index_t samples = 0;    ///< that a shard's own statistics are taken over; 0: the micro-batch's, or the batch's
    int running = -1;       ///< pass update of a batch norm: the tile of running statistics that it updates

    // Set by binding.
    int implementation = 0; ///< the backend's number for how the task is computed
    bool fused = false;     ///< the task that writes what it reads does its work too, in place
    bool activates = false; ///< it does the work of such a task
    int workspace = -1;     ///< tile that forward leaves to backward beside its output, or -1

    /// Forward of a piece of the keys that go round a ring: how many pieces have come before it. Behind the first it
    /// merges what it makes with what the tiles that it writes hold. -1: of all that a shard has.
    int turn = -1;

    friend bool operator==(const compute_fields&, const compute_fields&) = default;

    template <class See>
    static constexpr void each_field(See&& see) {
        see("first_nest", &compute_fields::first_nest, plan_field{});
        see("last_nest", &compute_fields::last_nest, plan_field{});
        see("emits", &compute_fields::emits, plan_field{});
        see("first_part", &compute_fields::first_part, plan_field{});
        see("ranges", &compute_fields::ranges, plan_field{});
        see("value", &compute_fields::value, plan_field{.tiles = true, .none = true});
        see("gradient", &compute_fields::gradient, plan_field{.tiles = true, .none = true});
        see("samples", &compute_fields::samples, plan_field{});
        see("running", &compute_fields::running, plan_field{.tiles = true, .none = true});
        see("implementation", &compute_fields::implementation, plan_field{});
        see("fused", &compute_fields::fused, plan_field{});
        see("activates", &compute_fields::activates, plan_field{});
        see("workspace", &compute_fields::workspace, plan_field{.tiles = true, .none = true});
        see("turn", &compute_fields::turn, plan_field{});
    }
};

/// What copy has.
struct copy_fields {
    std::vector<copy_segment> segments;
    bool clear = false;
    reducer reduce = reducer::sum;

    friend bool operator==(const copy_fields&, const copy_fields&) = default;

    template <class See>
    static constexpr void each_field(See&& see) {
        see("segments", &copy_fields::segments, plan_field{.tiles = true});
        see("clear", &copy_fields::clear, plan_field{});
        see("reduce", &copy_fields::reduce, plan_field{});
    }
};

constexpr std::uint32_t bit_of(task_kind k) { return 1U << static_cast<unsigned>(k); }

/// What the kinds of tasks that work on parameters have: reduce, update, gather, average, norm, compress and
/// decompress. `reads` of a reduce, an update and a norm are the gradient contributions in order of summation, of slice
/// `slice` of `slices` of the flat tile.
struct parameter_fields {
    int parameter = -1;
    std::vector<task_parameter> parts; ///< where it is of several parameters: each; `parameter` is the first's then
    int slice = 0;                     ///< of every parameter
    int slices = 1;
    /// Tile of the optimizer's state, or of a residual, or -1; of several parameters the parts have them.
    int state = -1;
    std::vector<int> norms; ///< scalar tiles: reduce writes the one, update and norm read them all to clip
    /// Scalar tiles of two: a norm writes one for each of its parameters, an update reads all of its parameters.
    std::vector<int> layer_norms;
    std::vector<box> counted_elsewhere; ///< parts of the region whose squares another task counts
    double scale = 1;                   ///< of the gradients of an update by those of its own device alone: its copies
    exchange method = exchange::sliced; ///< that it is part of
    /// Tasks of one number follow each other and make one collective; -1: none, or a parameter's by itself.
    int message = -1;

    friend bool operator==(const parameter_fields&, const parameter_fields&) = default;

    template <class See>
    static constexpr void each_field(See&& see) {
        constexpr std::uint32_t update = bit_of(task_kind::update);
        constexpr std::uint32_t norm = bit_of(task_kind::norm);
        constexpr std::uint32_t reduce = bit_of(task_kind::reduce);
        see("parameter", &parameter_fields::parameter, plan_field{.by_parameter = true});
        see("parts", &parameter_fields::parts, plan_field{.tiles = true, .by_parameter = true});
        see("slice", &parameter_fields::slice, plan_field{});
        see("slices", &parameter_fields::slices, plan_field{});
        see("state", &parameter_fields::state,
            plan_field{.tiles = true,
                       .none = true,
                       .by_parameter = true,
                       .kinds = update | norm | bit_of(task_kind::compress)});
        see("norms", &parameter_fields::norms,
            plan_field{.tiles = true, .by_parameter = true, .kinds = reduce | update | norm});
        see("layer_norms", &parameter_fields::layer_norms,
            plan_field{.tiles = true, .by_parameter = true, .kinds = update | norm});
        see("counted_elsewhere", &parameter_fields::counted_elsewhere, plan_field{.kinds = reduce | norm});
        see("scale", &parameter_fields::scale, plan_field{.kinds = update});
        see("method", &parameter_fields::method, plan_field{});
        see("message", &parameter_fields::message, plan_field{});
    }
};

/// What reorder and sum have besides.
struct no_fields {
    friend bool operator==(const no_fields&, const no_fields&) = default;

    template <class See>
    static constexpr void each_field(See&&) {}
};

/// The region by which a scalar tile of two numbers is known.
inline constexpr box layer_norm_region{1, {{0, 2}}};

/// One task: the fields of all, and those of its kind, which decides on their type. Fields that another kind has read
/// as their defaults; to write them throws std::bad_variant_access.
class task : public common_fields {
public:
    explicit task(task_kind kind = task_kind::compute);

    task_kind kind() const { return kind_; }
    /// Makes it a task of another kind; of its own fields it keeps those that both have.
    void become(task_kind kind);

    const compute_fields& compute() const { return read<compute_fields>(); }
    compute_fields& mutable_compute() { return std::get<compute_fields>(own_); }
    const copy_fields& copy() const { return read<copy_fields>(); }
    copy_fields& mutable_copy() { return std::get<copy_fields>(own_); }
    const parameter_fields& params() const { return read<parameter_fields>(); }
    bool has_params() const { return std::holds_alternative<parameter_fields>(own_); }
    parameter_fields& mutable_params() { return std::get<parameter_fields>(own_); }

    friend bool operator==(const task&, const task&) = default;

    /// Calls f(fields) with the fields of its kind.
    template <class Function>
    void with_own_fields(Function&& f) const {
        std::visit(f, own_);
    }
    template <class Function>
    void with_own_fields(Function&& f) {
        std::visit(f, own_);
    }
    /// The same with the fields that all tasks have before.
    template <class Function>
    void with_fields(Function&& f) const {
        f(static_cast<const common_fields&>(*this));
        std::visit(f, own_);
    }
    template <class Function>
    void with_fields(Function&& f) {
        f(static_cast<common_fields&>(*this));
        std::visit(f, own_);
    }

private:
    template <class Fields>
    const Fields& read() const {
        if (const Fields* own = std::get_if<Fields>(&own_)) {
            return *own;
        }
        static const Fields usual{};
        return usual;
    }
    template <class Fields>
    void hold() {
        if (!std::holds_alternative<Fields>(own_)) {
            own_.emplace<Fields>();
        }
    }

    task_kind kind_ = task_kind::compute;
    std::variant<compute_fields, copy_fields, parameter_fields, no_fields> own_;
};

/// Calls f(number, plan_field) for every number of a tile in the fields that a task has.
template <class Function>
void for_each_tile(task& t, Function&& f) {
    t.with_fields([&](auto& fields) { for_each_tile(fields, f); });
}
template <class Function>
void for_each_tile(const task& t, Function&& f) {
    t.with_fields([&](const auto& fields) { for_each_tile(fields, f); });
}

/// Puts tile `to` in the place of tile `from`, wherever the task names it.
void replace_tile(task& t, int from, int to);

/// The elements of a tile that a task touches: its slice, if it has one; a tile that is itself that slice is touched
/// whole.
inline interval slice_of(const tile& x, const task& t) {
    const parameter_fields& own = t.params();
    return x.slices > 1 || own.slices < 2 ? interval{0, x.elements} : even_part(x.elements, own.slices, own.slice);
}

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/task.inl"
#endif

#include "tessera/base/end_header.inl"
