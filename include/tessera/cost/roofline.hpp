// SPDX-License-Identifier: Apache-2.0
// How long a device computes: by its rates by size, where it has some (machine/device_rates.hpp), else by the roofline
// (Williams, Waterman and Patterson, CACM 52(4), 2009), the longer of its arithmetic and its memory traffic, each at
// the share of the peak that such operations reach.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/fixed_vector.hpp"
#include "tessera/machine/device_graph.hpp"
#include "tessera/op/attributes.hpp"
#include "tessera/op/product_shape.hpp"

namespace tessera::cost {

/// Shares of the peaks that are reached, in per cent, by devices that have no rates by size. Assumptions of ours, of
/// the size that vendor libraries reach on large operands: convolutions and matrix products at their device class's
/// rate for them, everything else as a quarter of the peak, which memory bounds before.
struct roofline_efficiency {
    int compute[work_kinds] = {60, 75, 25};
    int memory = 75;
};

/// Attention in one operator has rates of its own.
enum class attention_pass : std::uint8_t { none, forward, backward };

/// What a task does.
struct work {
    work_kind kind = work_kind::elementwise;
    index_t flops = 0;
    index_t bytes = 0; ///< that it reads and writes of its own device's memory or, where tiles are remote, of theirs
    precision math = precision::fp32;          ///< the rate of which counts
    fixed_vector<product_shape, 4> products{}; ///< part of the operations; of them the shapes are known
    attention_pass of_pairs = attention_pass::none;
};

namespace detail {

[[noreturn]] void refuse_rates(const device_class& on, index_t rate, int compute, int memory);

inline constexpr index_t endless = index_t{1} << 60; ///< ns

constexpr index_t rounds_of(index_t what, index_t by) { return (what + by - 1) / by; }

/// a * b, or endless where that is more.
constexpr index_t bounded_product(index_t a, index_t b) { return a > 0 && b > endless / a ? endless : a * b; }

/// Nanoseconds of a product in waves of tiles, as many at a time as there are multiprocessors. `rate` is what large
/// products reach, GFLOP/s. A tile takes its part of the device for its terms and product_depth more: what fills and
/// empties its pipeline. Smaller tiles leave less of the last wave empty, and read more for what they compute: halved
/// 1, 2, 3, 4 times they take 17, 19, 22, 26 sixteenths (an assumption). Long sums may be cut into parts.
constexpr index_t product_time(const product_shape& p, const device_rates& r, index_t rate) {
    index_t best = endless;
    for (const bool upright : {false, true}) {
        index_t rows = upright ? r.tile_columns : r.tile_rows;
        index_t columns = upright ? r.tile_rows : r.tile_columns;
        index_t slower = 16;
        for (index_t halved = 0; halved < 5; ++halved) {
            slower += halved;
            const index_t tiles = p.batches * rounds_of(p.rows, rows) * rounds_of(p.columns, columns);
            // ps of a wave for each term
            const index_t term = bounded_product(2 * rows * columns * r.multiprocessors, 1000) / rate * slower / 16 + 1;
            for (index_t cut = 1; cut <= 8; cut *= 2) {
                const index_t terms = rounds_of(p.depth, cut) + r.product_depth;
                const index_t waves = rounds_of(cut * tiles, r.multiprocessors);
                const index_t time = bounded_product(bounded_product(waves, terms), term) / 1000;
                best = time < best ? time : best;
            }
            (rows < columns ? columns : rows) = ((rows < columns ? columns : rows) + 1) / 2;
        }
    }
    return best;
}

/// Nanoseconds of the arithmetic of a device that has rates.
constexpr index_t arithmetic_by_rates(const work& w, const device_class& on, index_t rate, int elementwise) {
    const device_rates& r = on.rates;
    const auto reached = [&](index_t thousandths) {
        const index_t x = rate * thousandths / 1000;
        return x > 1 ? x : index_t{1};
    };
    if (w.of_pairs != attention_pass::none) {
        return w.flops /
               reached(w.of_pairs == attention_pass::forward ? r.attention_forward_share : r.attention_backward_share);
    }
    if (w.kind == work_kind::elementwise) {
        return w.flops / reached(elementwise * 10);
    }
    index_t time = 0;
    index_t others = w.flops;
    for (const product_shape& p : w.products) {
        time += product_time(p, r, reached(r.product_share));
        others -= p.flops();
    }
    return time + (others > 0 ? others / reached(r.product_share) : 0);
}

} // namespace detail

/// Nanoseconds to pass over bytes of a device's own memory.
constexpr index_t memory_time(index_t bytes, const device_class& on, const roofline_efficiency& reached = {}) {
    if (on.rates.known()) {
        return bytes == 0
                   ? 0
                   : (bytes + on.rates.memory_ramp) * 1000 / (on.memory_megabytes * on.rates.memory_share / 1000);
    }
    return bytes * 1000 * 100 / (on.memory_megabytes * reached.memory);
}

/// Nanoseconds, at least 1: launch + max(arithmetic, traffic). Of devices without rates by size: flops / (rate for the
/// kind in the precision * its share), and bytes / (bandwidth * its share). Throws tessera::error where a rate or a
/// share is not above 0.
constexpr index_t roofline_time(const work& w, const device_class& on, const roofline_efficiency& reached = {}) {
    const int k = static_cast<int>(w.kind);
    const index_t rate = on.rate(w.kind, w.math);
    if (rate < 1 || on.memory_megabytes < 1 || reached.compute[k] < 1 || reached.memory < 1) {
        detail::refuse_rates(on, rate, reached.compute[k], reached.memory);
    }
    const index_t arithmetic = on.rates.known() ? detail::arithmetic_by_rates(w, on, rate, reached.compute[k])
                                                : w.flops * 100 / (rate * reached.compute[k]);
    const index_t traffic = memory_time(w.bytes, on, reached);
    const index_t time = on.launch + (arithmetic > traffic ? arithmetic : traffic);
    return time > 1 ? time : 1;
}

} // namespace tessera::cost

#ifndef TESSERA_COMPILED
#include "tessera/cost/roofline.inl"
#endif

#include "tessera/base/end_header.inl"
