// SPDX-License-Identifier: Apache-2.0
// Bodies of compose.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"

namespace tessera::cuda {

TESSERA_INLINE int to_int(index_t x) {
    if (x < 0 || x > std::numeric_limits<int>::max()) {
        throw error("tessera: an extent of " + std::to_string(x) +
                    " is more than cuDNN takes; split the operator or use a smaller batch");
    }
    return static_cast<int>(x);
}

TESSERA_INLINE index_t largest_array::operator()(const convolution& c) const {
    return std::max({volume_of(c.x), volume_of(c.w), volume_of(c.y)});
}

TESSERA_INLINE strided_box box_between(const box& what, const box& from, const box& what_in_to, const box& to) {
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

TESSERA_INLINE strided_box turned(strided_box b) {
    for (int k = 0; k < 5; ++k) {
        std::swap(b.from[k], b.to[k]);
    }
    std::swap(b.from_start, b.to_start);
    return b;
}

TESSERA_INLINE index_t composer::bytes_of_tile(const tile& t) {
    return t.kind == tile_kind::optimizer_state || t.kind == tile_kind::scratch ? t.bytes
                                                                                : t.elements * bytes_of(t.type);
}

TESSERA_INLINE memory_use composer::slice(int t, const interval& elements, bool is_write) const {
    return {t, elements.begin * 4, elements.size() * 4, is_write};
}

TESSERA_INLINE memory_use composer::from(memory_use m, index_t offset) {
    return {m.tile, m.offset + offset, m.bytes - offset, m.write};
}

TESSERA_INLINE memory_use composer::as_read(memory_use m) {
    m.write = false;
    return m;
}

TESSERA_INLINE memory_use composer::take(index_t bytes) {
    const memory_use m{t_.scratch, scratch_, bytes, true};
    scratch_ += tessera::detail::align(bytes, gpu_alignment);
    return m;
}

TESSERA_INLINE call& composer::add(call_body body, std::vector<memory_use> memory) {
    call c;
    c.body = std::move(body);
    c.memory = std::move(memory);
    calls_.push_back(std::move(c));
    return calls_.back();
}

TESSERA_INLINE void composer::launch(const kernel& which, std::vector<memory_use> memory, const kernel_numbers& numbers,
                                     index_t elements, bool reads_step) {
    kernel_launch k = typed(make(which, static_cast<int>(memory.size()), numbers));
    k.blocks = blocks_for(elements);
    k.reads_step = reads_step;
    add(std::move(k), std::move(memory));
}

TESSERA_INLINE void composer::launch_as(element of, const kernel& which, std::vector<memory_use> memory,
                                        const kernel_numbers& numbers, index_t elements) {
    launch(which, std::move(memory), numbers, elements);
    std::get<kernel_launch>(calls_.back().body).type = of;
}

TESSERA_INLINE void composer::launch_blocks(const kernel& which, std::vector<memory_use> memory,
                                            const kernel_numbers& numbers, index_t blocks, index_t work,
                                            bool reads_step) {
    kernel_launch k = typed(make(which, static_cast<int>(memory.size()), numbers));
    k.blocks = to_int(blocks);
    k.threads = threads_for(work);
    k.reads_step = reads_step;
    add(std::move(k), std::move(memory));
}

TESSERA_INLINE void composer::launch_channels(const kernel& which, std::vector<memory_use> inputs,
                                              const std::vector<memory_use>& targets, kernels::channel_numbers n,
                                              const kernels::norm_reals& reals) {
    constexpr index_t enough = 512; // blocks for any GPU
    constexpr index_t least = 1024; // elements for a block
    const index_t work = n.samples * n.plane;
    const index_t parts = std::min((enough + n.channels - 1) / std::max<index_t>(n.channels, 1), work / least);
    if (parts <= 1) {
        inputs.insert(inputs.end(), targets.begin(), targets.end());
        return launch_blocks(which, std::move(inputs), kernel_numbers(n, reals), n.channels, work);
    }
    n.parts = parts;
    const memory_use sums = take(parts * 2 * n.channels * bytes_of(element::f64));
    inputs.push_back(sums);
    launch_blocks(which, std::move(inputs), kernel_numbers(n, reals), n.channels * parts, work / parts);
    std::vector<memory_use> all{as_read(sums)};
    all.insert(all.end(), targets.begin(), targets.end());
    launch(kernels::add_channel_parts, std::move(all), kernel_numbers(n, reals), n.channels);
}

TESSERA_INLINE kernel_launch composer::make(const kernel& which, int pointers, const kernel_numbers& numbers) {
    kernel_launch k;
    k.which = &which;
    k.pointers = pointers;
    k.numbers = numbers;
    return k;
}

TESSERA_INLINE kernel_launch composer::typed(kernel_launch k) const {
    k.type = k.which->has_bf16 ? type : element::f32;
    return k;
}

TESSERA_INLINE int composer::threads_for(index_t work) {
    int threads = 32;
    while (threads < 256 && threads * 4 < work) {
        threads *= 2;
    }
    return threads;
}

TESSERA_INLINE int composer::blocks_for(index_t elements) {
    constexpr index_t most = 4096;
    const index_t wanted = (elements + 255) / 256;
    return static_cast<int>(wanted < 1 ? 1 : wanted > most ? most : wanted);
}

TESSERA_INLINE void composer::copy(const strided_box& b, memory_use from_memory, memory_use to_memory, element of,
                                   bool overwrite, reducer reduction) {
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
    kernels::copy_numbers n{.how = overwrite ? 0 : reduction == reducer::max ? 2 : 1};
    for (int k = 0; k < 5; ++k) {
        n.count[k] = b.count[k];
        n.from[k] = b.from[k];
        n.to[k] = b.to[k];
    }
    const kernel& which = of == element::f32   ? kernels::strided_copy_f32
                          : of == element::f64 ? kernels::strided_copy_f64
                          : of == element::i32 ? kernels::strided_copy_i32
                                               : kernels::strided_copy_bf16;
    launch(which, {as_read(source), target}, kernel_numbers(n), total);
}

TESSERA_INLINE index_t composer::span(const index_t* count, const index_t* stride) {
    index_t last = 1;
    for (int k = 0; k < 5; ++k) {
        last += (count[k] - 1) * stride[k];
    }
    return last;
}

TESSERA_INLINE memory_use shard_call::factor(int o) const {
    const memory_use own = value(o);
    if (!in_bf16()) {
        return own;
    }
    const memory_use rounded = to.take(volume(o) * bytes_of(element::bf16));
    const kernels::count_numbers n{.count = volume(o)};
    to.launch(kernels::round_to_bf16, {own, rounded}, kernel_numbers(n), n.count);
    return composer::as_read(rounded);
}

TESSERA_INLINE int shard_call::checked(int t, int o) const {
    const bool may_be_more = row.takes_tile != nullptr && o == input();
    if (t < 0 ||
        !(to.tile_at(t).region == region_of(o) || (may_be_more && to.tile_at(t).region.contains(region_of(o))))) {
        throw error("tessera: operand " + std::to_string(o) + " of a " + std::string(record_of(attributes()).name) +
                    (t < 0 ? " has no tile" : " has a tile of another region") + " in its " + to_text(call.what) +
                    " pass; the plan must place exactly its region on the device");
    }
    return t;
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
