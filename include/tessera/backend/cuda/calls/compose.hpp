// SPDX-License-Identifier: Apache-2.0
// The words in which tasks are put into calls: memory, scratch, launches, copies of boxes.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/channels.hpp"
#include "tessera/backend/cuda/kernels/copy.hpp"
#include "tessera/backend/cuda/measure/algorithms.hpp"
#include "tessera/backend/cuda/op/row.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plan/call.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace tessera::cuda {

/// cuDNN counts in int.
int to_int(index_t x);

/// The largest of the arrays that cuDNN is handed, in elements; 0 for calls of others.
struct largest_array {
    static index_t volume(const int (&e)[4]) { return index_t{e[0]} * e[1] * e[2] * e[3]; }
    index_t operator()(const convolution& c) const;
    index_t operator()(const activated_convolution& c) const { return (*this)(c.of); }
    index_t operator()(const bias_add& c) const { return volume(c.y); }
    index_t operator()(const bias_gradient& c) const { return volume(c.y); }
    index_t operator()(const pooling& c) const { return std::max(volume_of(c.x), volume_of(c.y)); }
    index_t operator()(const activation& c) const { return c.count; }
    index_t operator()(const normalization& c) const { return volume(c.x); }
    index_t operator()(const row_softmax& c) const { return index_t{c.rows} * c.columns; }
    index_t operator()(const tensor_operation& c) const { return c.rows * c.count; }
    template <class Other>
    index_t operator()(const Other&) const {
        return 0;
    }
};

/// A dense row-major array of up to five dimensions in another one: what strided_copy takes.
struct strided_box {
    index_t count[5] = {1, 1, 1, 1, 1};
    index_t from[5] = {};
    index_t to[5] = {};
    index_t from_start = 0; ///< elements
    index_t to_start = 0;
};

/// `what`, a part of both regions (given in the coordinates of each), from one dense array to another.
strided_box box_between(const box& what, const box& from, const box& what_in_to, const box& to);

/// The way back.
strided_box turned(strided_box b);

/// The calls of one task while they are put together.
class composer {
public:
    composer(const plan& p, const task& t, bool fuses = true) : p_(p), t_(t), fuses_(fuses) {}

    /// Whether a call may do what else it can on its way.
    bool fuses() const { return fuses_; }

    const plan& of() const { return p_; }
    const task& what() const { return t_; }
    std::vector<call>& calls() { return calls_; }
    index_t scratch_bytes() const { return scratch_; }

    const tile& tile_at(int t) const { return p_.tiles[to_size(t)]; }
    static index_t bytes_of_tile(const tile& t);

    /// Of the activations that the task's kernels work on.
    element type = element::f32;

    // ---- memory -----------------------------------------------------------------------------------------------------

    memory_use read(int t) const { return {t, 0, bytes_of_tile(tile_at(t)), false}; }
    memory_use write(int t) const { return {t, 0, bytes_of_tile(tile_at(t)), true}; }
    /// Elements of a tile of f32.
    memory_use slice(int t, const interval& elements, bool is_write) const;
    /// From byte `offset` to the end.
    static memory_use from(memory_use m, index_t offset);
    static memory_use as_read(memory_use m);
    /// Fresh scratch memory of the task, written by whoever gets it first.
    memory_use take(index_t bytes);

    // ---- calls ------------------------------------------------------------------------------------------------------

    call& add(call_body body, std::vector<memory_use> memory);

    /// A thread for each of `elements`, up to a number that fills any GPU; then each takes several.
    void launch(const kernel& which, std::vector<memory_use> memory, const kernel_numbers& numbers, index_t elements,
                bool reads_step = false);
    /// The same on elements of another type than the task's activations.
    void launch_as(element of, const kernel& which, std::vector<memory_use> memory, const kernel_numbers& numbers,
                   index_t elements);
    /// A block for each of `blocks`, with threads for `work` elements each.
    void launch_blocks(const kernel& which, std::vector<memory_use> memory, const kernel_numbers& numbers,
                       index_t blocks, index_t work, bool reads_step = false);

    /// Sums over each channel: `inputs`, and up to three targets as statistics_gradient takes them. Where there are few
    /// channels several blocks share one, since one for each would leave most of a GPU idle; another kernel adds
    /// theirs.
    void launch_channels(const kernel& which, std::vector<memory_use> inputs, const std::vector<memory_use>& targets,
                         kernels::channel_numbers n, const kernels::norm_reals& reals = {});

    static kernel_launch make(const kernel& which, int pointers, const kernel_numbers& numbers);
    kernel_launch typed(kernel_launch k) const;
    /// Of a block that shares so many elements.
    static int threads_for(index_t work);
    static int blocks_for(index_t elements);

    /// Copies a box, or adds it, or takes the larger. Both memories are whole dense arrays.
    void copy(const strided_box& b, memory_use from_memory, memory_use to_memory, element of, bool overwrite,
              reducer how);

private:
    /// Elements between the first and the last that are touched.
    static index_t span(const index_t* count, const index_t* stride);

    const plan& p_;
    const task& t_;
    bool fuses_;
    std::vector<call> calls_;
    index_t scratch_ = 0;
};

/// A compute task with its operands at hand.
struct shard_call {
    composer& to;
    const operator_row& row;
    const description& d;
    const compute_call& call;
    const graph_view& g;
    algorithm_table& algorithms;

    const op_attributes& attributes() const { return call.attributes; }
    int input(int slot = 0) const { return d.find_operand(operand_kind::input, slot); }
    int parameter(int slot) const { return d.find_operand(operand_kind::parameter, slot); }
    int intermediate(int slot) const { return d.find_operand(operand_kind::intermediate, slot); }
    int output() const { return d.output(); }
    bool emits(int o) const { return o >= 0 && has(call.emits, o); }

    /// What the shard touches of an operand; its tiles hold exactly that, densely, but for a convolution's input (see
    /// contain.hpp).
    box region_of(int o) const { return region(d, o, call.ranges); }
    /// Of an operand's elements, and of the activations.
    element type_of(int o) const { return d.operands[o].type; }
    element type() const { return attributes().math == precision::bf16 ? element::bf16 : element::f32; }
    bool in_bf16() const { return type() == element::bf16; }
    index_t size(int o, int dimension) const { return region_of(o).dim[dimension].size(); }
    index_t volume(int o) const { return region_of(o).volume(); }

    memory_use value(int o) const { return to.read(checked(to.what().compute().value[o], o)); }
    memory_use value_to(int o) const { return to.write(checked(to.what().compute().value[o], o)); }
    memory_use gradient(int o) const { return to.read(checked(to.what().compute().gradient[o], o)); }
    memory_use gradient_to(int o) const { return to.write(checked(to.what().compute().gradient[o], o)); }

    /// A parameter as a vendor's product takes it: itself, or rounded to bf16 in scratch memory.
    memory_use factor(int o) const;

private:
    int checked(int t, int o) const;
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/calls/compose.inl"
#endif

#include "tessera/base/end_header.inl"
