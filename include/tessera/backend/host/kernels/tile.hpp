// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "shapes.hpp"

/// What the drivers of the convolutions and linear layers, compiled once, tell the register tiles, compiled for each
/// instruction set (body/tile.inl).
namespace tessera::host::kernels::detail {

inline constexpr int largest_rows = static_cast<int>(most_rows);
inline constexpr int largest_columns = static_cast<int>(most_columns);

/// Where a tile's sums start and end. Strides are in floats.
struct tile_ends {
    const float* start = nullptr; ///< one vector of 16 for each row, or nullptr: from what is stored
    std::ptrdiff_t start_row = 0;
    float* out[largest_columns] = {};
    std::ptrdiff_t out_row[largest_rows] = {};
    bool relu = false; ///< clip at zero
};

alignas(64) inline constexpr float zero_vector[block_samples] = {};

/// One term of a sum over a list: offsets, in floats, of the vectors and of the packed scalars.
struct tap {
    std::int32_t vector;
    std::int32_t scalar;
};

/// out[a][b] = sum over repeats and taps of scalars[a] * vectors[b].
struct listed_sum {
    tile_ends ends;
    const tap* taps = nullptr;
    int tap_count = 0;
    int repeats = 1;
    std::ptrdiff_t vector_stride = 0; ///< per repeat
    std::ptrdiff_t scalar_stride = 0;
    const float* scalars = nullptr; ///< the rows' scalars side by side
    const float* vectors[largest_columns] = {};
};

/// out[a][b] = sum over two counters of scalars[a] * vectors[b], both moving by fixed steps.
struct strided_sum {
    tile_ends ends;
    int count = 0, repeats = 1;
    std::ptrdiff_t vector_stride = 0, scalar_stride = 0; ///< per count
    std::ptrdiff_t vector_repeat = 0, scalar_repeat = 0; ///< per repeat
    const float* scalars[largest_rows] = {};
    const float* vectors[largest_columns] = {};
};

/// out[a][b] = sum over a plane of left[a] * right[b], lane by lane.
struct plane_sum {
    tile_ends ends;
    int rows = 0, columns = 0;
    std::ptrdiff_t left_row = 0; ///< the left operand's columns are adjacent
    std::ptrdiff_t right_row = 0, right_column = 0;
    const float* left[largest_rows] = {};
    const float* right[largest_columns] = {};
};

/// A tile: the accumulators that it keeps in registers, and its code.
template <class Sum>
struct tile {
    int rows, columns;
    void (*run)(const Sum&) noexcept;

    /// Half cycles of a sum of `terms` terms. A step does two multiply-adds a cycle, has four cycles of latency, and
    /// its loads cost about a sixth of a cycle each (measured); setting a tile up takes some fifty cycles, and two for
    /// each accumulator.
    [[nodiscard]] constexpr std::int64_t cost(std::int64_t terms) const noexcept {
        return terms * (1 + largest(8, rows * columns) + (rows + columns) / 3) + 4 * rows * columns + 100;
    }
};

/// The tiles of one instruction set for one kind of sum.
template <class Sum>
struct tile_set {
    const tile<Sum>* tiles;
    int count;
    int width; ///< floats per vector

    /// Vectors that hold 16 samples.
    [[nodiscard]] constexpr int parts() const noexcept { return block_samples / width; }

    /// The tile with the least time(tile).
    template <class Time>
    [[nodiscard]] tile<Sum> cheapest(Time time) const noexcept {
        tile<Sum> best = tiles[0];
        std::int64_t best_time = 0;
        for (int i = 0; i < count; ++i) {
            const std::int64_t here = time(tiles[i]);
            if (i != 0 && here >= best_time) continue;
            best = tiles[i];
            best_time = here;
        }
        return best;
    }
};

/// Time to cover rows x columns with tiles, each a sum of `terms` terms.
struct covering {
    std::int64_t rows, columns, terms;
    template <class Tile>
    [[nodiscard]] std::int64_t operator()(const Tile& t) const noexcept {
        return (rows + t.rows - 1) / t.rows * ((columns + t.columns - 1) / t.columns) * t.cost(terms);
    }
};

/// Scratch memory handed out front to back, on 64-byte borders.
struct scratch_cursor {
    std::uintptr_t at;
    explicit scratch_cursor(void* memory) noexcept : at{(reinterpret_cast<std::uintptr_t>(memory) + 63) / 64 * 64} {}
    template <class T>
    [[nodiscard]] T* take(std::size_t elements) noexcept {
        T* const result = reinterpret_cast<T*>(at);
        at += round_up(elements * sizeof(T), 64);
        return result;
    }
};

} // namespace tessera::host::kernels::detail

#include "tessera/base/end_header.inl"
