// SPDX-License-Identifier: Apache-2.0
// Register tiles: the inner loops of convolutions and linear layers. See vector.hpp.

[[gnu::always_inline]] inline vec load(const float* p) noexcept { return *reinterpret_cast<const vec_unaligned*>(p); }
[[gnu::always_inline]] inline void store(float* p, vec v) noexcept { *reinterpret_cast<vec_unaligned*>(p) = v; }
[[gnu::always_inline]] inline vec positive(vec v) noexcept { return v <= vec{} ? vec{} : v; } // NaN stays NaN

/// Vectors that hold the 16 samples of one element.
inline constexpr int parts = block_samples / width;

template <int Rows, int Columns>
[[gnu::always_inline]] inline void begin_tile(vec (&sum)[Rows][Columns], const detail::tile_ends& ends) noexcept {
    if (ends.start != nullptr) {
#pragma GCC unroll 16
        for (int a = 0; a < Rows; ++a) {
            const vec start = load(ends.start + a * ends.start_row);
#pragma GCC unroll 16
            for (int b = 0; b < Columns; ++b) sum[a][b] = start;
        }
        return;
    }
#pragma GCC unroll 16
    for (int b = 0; b < Columns; ++b)
#pragma GCC unroll 16
        for (int a = 0; a < Rows; ++a) sum[a][b] = load(ends.out[b] + ends.out_row[a]);
}

/// Clips a stored tile at zero; apart from the tile itself, so that each tile stays short.
inline void clip_tile(const detail::tile_ends& ends, int rows, int columns) noexcept {
    for (int a = 0; a < rows; ++a)
        for (int b = 0; b < columns; ++b) {
            float* const at = ends.out[b] + ends.out_row[a];
            store(at, positive(load(at)));
        }
}

template <int Rows, int Columns>
[[gnu::always_inline]] inline void end_tile(vec (&sum)[Rows][Columns], const detail::tile_ends& ends) noexcept {
    // Read before the stores, which might alias them as far as the compiler knows.
    float* out[Columns];
    std::ptrdiff_t row[Rows];
    for (int b = 0; b < Columns; ++b) out[b] = ends.out[b];
    for (int a = 0; a < Rows; ++a) row[a] = ends.out_row[a];
#pragma GCC unroll 16
    for (int a = 0; a < Rows; ++a)
#pragma GCC unroll 16
        for (int b = 0; b < Columns; ++b) store(out[b] + row[a], sum[a][b]);
    if (ends.relu) clip_tile(ends, Rows, Columns);
}

/// sum[a][b] += left[a] * right[b]; the shorter side stays in registers.
template <int Rows, int Columns, class Left, class Right>
[[gnu::always_inline]] inline void outer_product(vec (&sum)[Rows][Columns], Left left, Right right) noexcept {
    if constexpr (Rows < Columns) {
        vec kept[Rows];
#pragma GCC unroll 16
        for (int a = 0; a < Rows; ++a) kept[a] = left(a);
#pragma GCC unroll 16
        for (int b = 0; b < Columns; ++b) {
            const vec r = right(b);
#pragma GCC unroll 16
            for (int a = 0; a < Rows; ++a) sum[a][b] = fma(kept[a], r, sum[a][b]);
        }
    } else {
        vec kept[Columns];
#pragma GCC unroll 16
        for (int b = 0; b < Columns; ++b) kept[b] = right(b);
#pragma GCC unroll 16
        for (int a = 0; a < Rows; ++a) {
            const vec l = left(a);
#pragma GCC unroll 16
            for (int b = 0; b < Columns; ++b) sum[a][b] = fma(l, kept[b], sum[a][b]);
        }
    }
}

/// A vector at a fixed place of each of several streams, or a scalar of each, broadcast.
template <int Count>
struct vectors_at {
    const float* const (&base)[Count];
    std::ptrdiff_t offset;
    [[gnu::always_inline]] vec operator()(int i) const noexcept { return load(base[i] + offset); }
};
template <int Count>
struct scalars_at {
    const float* const (&base)[Count];
    std::ptrdiff_t offset;
    [[gnu::always_inline]] vec operator()(int i) const noexcept { return broadcast(base[i][offset]); }
};
struct scalars_packed {
    const float* base;
    [[gnu::always_inline]] vec operator()(int i) const noexcept { return broadcast(base[i]); }
};

template <int Rows, int Columns>
void run_listed_sum(const detail::listed_sum& work) noexcept {
    vec sum[Rows][Columns];
    begin_tile<Rows, Columns>(sum, work.ends);
    const float* base[Columns];
    for (int b = 0; b < Columns; ++b) base[b] = work.vectors[b];
    const float* scalars = work.scalars;
    std::ptrdiff_t at = 0;
    for (int r = 0; r < work.repeats; ++r) {
        const detail::tap* const last = work.taps + work.tap_count;
        for (const detail::tap* t = work.taps; t != last; ++t)
            outer_product<Rows, Columns>(sum, scalars_packed{scalars + t->scalar},
                                         vectors_at<Columns>{base, at + t->vector});
        at += work.vector_stride;
        scalars += work.scalar_stride;
    }
    end_tile<Rows, Columns>(sum, work.ends);
}

template <int Rows, int Columns>
void run_strided_sum(const detail::strided_sum& work) noexcept {
    vec sum[Rows][Columns];
    begin_tile<Rows, Columns>(sum, work.ends);
    const float* left[Rows];
    const float* right[Columns];
    for (int a = 0; a < Rows; ++a) left[a] = work.scalars[a];
    for (int b = 0; b < Columns; ++b) right[b] = work.vectors[b];
    for (int r = 0; r < work.repeats; ++r) {
        std::ptrdiff_t at_vector = r * work.vector_repeat;
        std::ptrdiff_t at_scalar = r * work.scalar_repeat;
        for (int i = 0; i < work.count; ++i) {
            outer_product<Rows, Columns>(sum, scalars_at<Rows>{left, at_scalar}, vectors_at<Columns>{right, at_vector});
            at_vector += work.vector_stride;
            at_scalar += work.scalar_stride;
        }
    }
    end_tile<Rows, Columns>(sum, work.ends);
}

template <int Rows, int Columns>
void run_plane_sum(const detail::plane_sum& work) noexcept {
    vec sum[Rows][Columns];
    begin_tile<Rows, Columns>(sum, work.ends);
    const float* left[Rows];
    const float* right[Columns];
    for (int a = 0; a < Rows; ++a) left[a] = work.left[a];
    for (int b = 0; b < Columns; ++b) right[b] = work.right[b];
    for (int h = 0; h < work.rows; ++h) {
        std::ptrdiff_t at_left = h * work.left_row;
        std::ptrdiff_t at_right = h * work.right_row;
        const std::ptrdiff_t end = at_left + work.columns * std::ptrdiff_t{block_samples};
        for (; at_left != end; at_left += block_samples) {
            outer_product<Rows, Columns>(sum, vectors_at<Rows>{left, at_left}, vectors_at<Columns>{right, at_right});
            at_right += work.right_column;
        }
    }
    end_tile<Rows, Columns>(sum, work.ends);
}

template <int Rows, int Columns>
inline constexpr detail::tile<detail::listed_sum> listed_tile = {Rows, Columns, &run_listed_sum<Rows, Columns>};
template <int Rows, int Columns>
inline constexpr detail::tile<detail::strided_sum> strided_tile = {Rows, Columns, &run_strided_sum<Rows, Columns>};
template <int Rows, int Columns>
inline constexpr detail::tile<detail::plane_sum> plane_tile = {Rows, Columns, &run_plane_sum<Rows, Columns>};
