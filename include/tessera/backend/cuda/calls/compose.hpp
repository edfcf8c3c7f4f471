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
inline int to_int(index_t x) {
    if (x < 0 || x > std::numeric_limits<int>::max()) {
        throw error("tessera: an extent of " + std::to_string(x) +
                    " is more than cuDNN takes; split the operator or use a smaller batch");
    }
    return static_cast<int>(x);
}

/// The largest of the arrays that cuDNN is handed, in elements; 0 for calls of others.
struct largest_array {
    static index_t volume(const int (&e)[4]) { return index_t{e[0]} * e[1] * e[2] * e[3]; }
    index_t operator()(const convolution& c) const {
        return std::max({volume_of(c.x), volume_of(c.w), volume_of(c.y)});
    }
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
inline strided_box box_between(const box& what, const box& from, const box& what_in_to, const box& to) {
    strided_box b;
    index_t from_stride = 1;
    index_t to_stride = 1;
    for (int d = what.rank - 1, k = 4; d >= 0; --d, --k) {
        b.count[k] = what.dim[d].size();
        b.from[k] = from_stride;
        b.to[k] = to_stride;
        b.from_start += (what.dim[d].begin - from.dim[d].begin) * from_stride;
        b.to_start += (what_in_to.dim[d].begin - to.dim[d].begin) * to_stride;
        from_stride *= from.dim[d].size();
        to_stride *= to.dim[d].size();
    }
    return b;
}

/// The way back.
inline strided_box turned(strided_box b) {
    for (int k = 0; k < 5; ++k) {
        std::swap(b.from[k], b.to[k]);
    }
    std::swap(b.from_start, b.to_start);
    return b;
}

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

    const tile& tile_at(int t) const { return p_.tiles[static_cast<std::size_t>(t)]; }
    static index_t bytes_of_tile(const tile& t) {
        return t.kind == tile_kind::optimizer_state || t.kind == tile_kind::scratch ? t.bytes
                                                                                    : t.elements * bytes_of(t.type);
    }

    /// Of the activations that the task's kernels work on.
    element type = element::f32;

    // ---- memory ------------------------------------------------------------------------------------------------------

    memory_use read(int t) const { return {t, 0, bytes_of_tile(tile_at(t)), false}; }
    memory_use write(int t) const { return {t, 0, bytes_of_tile(tile_at(t)), true}; }
    /// Elements of a tile of f32.
    memory_use slice(int t, const interval& elements, bool is_write) const {
        return {t, elements.begin * 4, elements.size() * 4, is_write};
    }
    /// From byte `offset` to the end.
    static memory_use from(memory_use m, index_t offset) {
        return {m.tile, m.offset + offset, m.bytes - offset, m.write};
    }
    static memory_use as_read(memory_use m) {
        m.write = false;
        return m;
    }
    /// Fresh scratch memory of the task, written by whoever gets it first.
    memory_use take(index_t bytes) {
        const memory_use m{t_.scratch, scratch_, bytes, true};
        scratch_ += tessera::detail::align(bytes, gpu_alignment);
        return m;
    }

    // ---- calls -------------------------------------------------------------------------------------------------------

    call& add(call_body body, std::vector<memory_use> memory) {
        call c;
        c.body = static_cast<call_body&&>(body);
        c.memory = static_cast<std::vector<memory_use>&&>(memory);
        calls_.push_back(static_cast<call&&>(c));
        return calls_.back();
    }

    /// A thread for each of `elements`, up to a number that fills any GPU; then each takes several.
    void launch(const kernel& which, std::vector<memory_use> memory, const kernel_numbers& numbers, index_t elements,
                bool reads_step = false) {
        kernel_launch k = typed(make(which, static_cast<int>(memory.size()), numbers));
        k.blocks = blocks_for(elements);
        k.reads_step = reads_step;
        add(static_cast<kernel_launch&&>(k), static_cast<std::vector<memory_use>&&>(memory));
    }
    /// The same on elements of another type than the task's activations.
    void launch_as(element of, const kernel& which, std::vector<memory_use> memory, const kernel_numbers& numbers,
                   index_t elements) {
        launch(which, static_cast<std::vector<memory_use>&&>(memory), numbers, elements);
        std::get<kernel_launch>(calls_.back().body).type = of;
    }
    /// A block for each of `blocks`, with threads for `work` elements each.
    void launch_blocks(const kernel& which, std::vector<memory_use> memory, const kernel_numbers& numbers,
                       index_t blocks, index_t work) {
        kernel_launch k = typed(make(which, static_cast<int>(memory.size()), numbers));
        k.blocks = to_int(blocks);
        k.threads = threads_for(work);
        add(static_cast<kernel_launch&&>(k), static_cast<std::vector<memory_use>&&>(memory));
    }

    /// Sums over each of n[1] channels: `inputs`, and up to three targets as statistics_gradient takes them (n[3] says which are wanted). Where there
    /// are few channels several blocks share one, since one for each would leave most of a GPU idle; another kernel adds theirs.
    void launch_channels(const kernel& which, std::vector<memory_use> inputs, const std::vector<memory_use>& targets,
                         kernel_numbers n) {
        constexpr index_t enough = 512; // blocks for any GPU
        constexpr index_t least = 1024; // elements for a block
        const index_t work = n.n[0] * n.n[2];
        const index_t parts = std::min((enough + n.n[1] - 1) / std::max<index_t>(n.n[1], 1), work / least);
        if (parts <= 1) {
            inputs.insert(inputs.end(), targets.begin(), targets.end());
            return launch_blocks(which, static_cast<std::vector<memory_use>&&>(inputs), n, n.n[1], work);
        }
        n.n[4] = parts;
        const memory_use sums = take(parts * 2 * n.n[1] * bytes_of(element::f64));
        inputs.push_back(sums);
        launch_blocks(which, static_cast<std::vector<memory_use>&&>(inputs), n, n.n[1] * parts, work / parts);
        std::vector<memory_use> all{as_read(sums)};
        all.insert(all.end(), targets.begin(), targets.end());
        launch(kernels::add_channel_parts, static_cast<std::vector<memory_use>&&>(all), n, n.n[1]);
    }

    static kernel_launch make(const kernel& which, int pointers, const kernel_numbers& numbers) {
        kernel_launch k;
        k.which = &which;
        k.pointers = pointers;
        k.numbers = numbers;
        return k;
    }
    kernel_launch typed(kernel_launch k) const {
        k.type = k.which->has_bf16 ? type : element::f32;
        return k;
    }
    /// Of a block that shares so many elements.
    static int threads_for(index_t work) {
        int threads = 32;
        while (threads < 256 && threads * 4 < work) {
            threads *= 2;
        }
        return threads;
    }
    static int blocks_for(index_t elements) {
        constexpr index_t most = 4096;
        const index_t wanted = (elements + 255) / 256;
        return static_cast<int>(wanted < 1 ? 1 : wanted > most ? most : wanted);
    }

    /// Copies a box, or adds it, or takes the larger. Both memories are whole dense arrays.
    void copy(const strided_box& b, memory_use from_memory, memory_use to_memory, element of, bool overwrite,
              reducer how) {
        index_t total = 1;
        bool dense = true; // a row without gaps on both sides
        for (int k = 4; k >= 0; --k) {
            dense = dense && (b.count[k] == 1 || (b.from[k] == total && b.to[k] == total));
            total *= b.count[k];
        }
        const index_t size = bytes_of(of);
        memory_use source = from(from_memory, b.from_start * size);
        memory_use target = from(to_memory, b.to_start * size);
        if (total == 0) {
            return;
        }
        source.bytes = span(b.count, b.from) * size;
        target.bytes = span(b.count, b.to) * size;
        if (dense && overwrite) {
            add(memory_copy{}, {as_read(source), target});
            return;
        }
        kernel_numbers n;
        for (int k = 0; k < 5; ++k) {
            n.n[k] = b.count[k];
            n.n[5 + k] = b.from[k];
            n.n[10 + k] = b.to[k];
        }
        n.n[15] = overwrite ? 0 : how == reducer::max ? 2 : 1;
        const kernel& which = of == element::f32   ? kernels::strided_copy_f32
                              : of == element::f64 ? kernels::strided_copy_f64
                              : of == element::i32 ? kernels::strided_copy_i32
                                                   : kernels::strided_copy_bf16;
        launch(which, {as_read(source), target}, n, total);
    }

private:
    /// Elements between the first and the last that are touched.
    static index_t span(const index_t* count, const index_t* stride) {
        index_t last = 1;
        for (int k = 0; k < 5; ++k) {
            last += (count[k] - 1) * stride[k];
        }
        return last;
    }

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

    /// What the shard touches of an operand; its tiles hold exactly that, densely, but for a convolution's input (see contain.hpp).
    box region_of(int o) const { return region(d, o, call.ranges); }
    /// Of an operand's elements, and of the activations.
    element type_of(int o) const { return d.operands[o].type; }
    element type() const { return attributes().math == precision::bf16 ? element::bf16 : element::f32; }
    bool in_bf16() const { return type() == element::bf16; }
    index_t size(int o, int dimension) const { return region_of(o).dim[dimension].size(); }
    index_t volume(int o) const { return region_of(o).volume(); }

    memory_use value(int o) const { return to.read(checked(to.what().value[o], o)); }
    memory_use value_to(int o) const { return to.write(checked(to.what().value[o], o)); }
    memory_use gradient(int o) const { return to.read(checked(to.what().gradient[o], o)); }
    memory_use gradient_to(int o) const { return to.write(checked(to.what().gradient[o], o)); }

    /// A parameter as a vendor's product takes it: itself, or rounded to bf16 in scratch memory.
    memory_use factor(int o) const {
        const memory_use own = value(o);
        if (!in_bf16()) {
            return own;
        }
        const memory_use rounded = to.take(volume(o) * bytes_of(element::bf16));
        kernel_numbers n;
        n.n[0] = volume(o);
        to.launch(kernels::round_to_bf16, {own, rounded}, n, n.n[0]);
        return composer::as_read(rounded);
    }

private:
    int checked(int t, int o) const {
        const bool may_be_more = row.takes_tile != nullptr && o == input();
        if (t < 0 ||
            !(to.tile_at(t).region == region_of(o) || (may_be_more && to.tile_at(t).region.contains(region_of(o))))) {
            throw error("tessera: operand " + std::to_string(o) + " of a " + std::string(record_of(attributes()).name) +
                        (t < 0 ? " has no tile" : " has a tile of another region") + " in its " + to_text(call.what) +
                        " pass; the plan must place exactly its region on the device");
        }
        return t;
    }
};

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
