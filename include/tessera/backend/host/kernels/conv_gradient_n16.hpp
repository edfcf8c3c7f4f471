// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "conv_n16.hpp"
#include "lanes.hpp"

/// Gradients of the convolutions of conv_n16.hpp.
namespace tessera::host::kernels {

namespace detail {

/// The tiles for sums over a plane, of the active instruction set.
[[nodiscard]] inline tile_set<plane_sum> plane_tiles() noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::plane_tiles();
    case instruction_set::avx2:
        return avx2::plane_tiles();
    case instruction_set::portable:
        break;
    }
    return portable::plane_tiles();
}

/// Bytes of gradient that a tile of rows reads again for each tap, about what the first-level cache holds.
inline constexpr int gradient_bytes = 20 * 1024;

/// Gradient planes with `gap` zero columns before the first row and after each: a tile that straddles a border reads
/// zeros there.
inline void gap_rows(const float* dy, float* gapped, int rows, int columns, int gap) noexcept {
    const std::size_t pixel = sizeof(float) * block_samples;
    std::memset(gapped, 0, pixel * to_size(gap));
    gapped += gap * block_samples;
    for (int r = 0; r < rows; ++r) {
        std::memcpy(gapped, dy + std::ptrdiff_t{r} * columns * block_samples, pixel * to_size(columns));
        std::memset(gapped + columns * block_samples, 0, pixel * to_size(gap));
        gapped += (columns + gap) * block_samples;
    }
}

/// Kernel columns that reach the input columns first, first + stride, ... (count of them): calls
/// found(kernel column, output column that belongs to `first`, which may lie outside).
template <class Found>
inline void reaching(int first, int count, int kernel, int stride, int pad, int dilation, int extent,
                     Found found) noexcept {
    for (int k = 0; k < kernel; ++k) {
        int at = first + pad - k * dilation;
        if (stride != 1) { // a division costs as much as a tile's step
            if (at % stride != 0) continue;
            at /= stride;
        }
        if (at + count > 0 && at < extent) found(k, at);
    }
}

struct count_reaching {
    std::int64_t& total;
    void operator()(int, int) const noexcept { ++total; }
};

/// Time of one inner row of backward data: a tile of several columns also computes the taps that only some of them
/// have.
struct gradient_time {
    const conv_shape& s;
    int parts;
    [[nodiscard]] std::int64_t operator()(const tile<listed_sum>& t) const noexcept {
        const int pixels = largest(1, t.columns / parts);
        const std::int64_t repeats = t.columns < parts ? parts / t.columns : 1;
        std::int64_t time = 0;
        for (int w = 0; w * s.stride_w < s.in_width; w += pixels) {
            std::int64_t taps = 0;
            reaching(w * s.stride_w, pixels, s.kernel_w, s.stride_w, s.pad_left, s.dilation_w, s.out_width,
                     count_reaching{taps});
            time += repeats * t.cost(taps * s.kernel_h * s.out_channels);
        }
        return time * ((s.in_channels + t.rows - 1) / t.rows);
    }
};

struct column_taps {
    int (&kernel)[largest_side];
    int (&at)[largest_side];
    int& count;
    void operator()(int k, int first) const noexcept {
        kernel[count] = k;
        at[count++] = first;
    }
};

} // namespace detail

/// dx = the gradient with respect to x, overwritten. Only multiplies what lies inside dy. pack as in conv_forward.
inline void conv_backward_data(const float* dy, const float* weights, float* dx, const conv_shape& s, bool pack,
                               void* scratch) noexcept {
    const detail::tile_set<detail::listed_sum> tiles = detail::listed_tiles();
    const int parts = tiles.parts(), width = tiles.width;
    const auto tile = tiles.cheapest(detail::gradient_time{s, parts});
    const int rows = tile.rows, wide = tile.columns;
    const int window = s.kernel_h * s.kernel_w;
    const int gap = wide;
    const int line = s.out_width + gap;
    const std::ptrdiff_t gradient_plane = std::ptrdiff_t{s.out_height} * line * block_samples;
    const std::ptrdiff_t in_plane = std::ptrdiff_t{s.in_height} * s.in_width * block_samples;

    detail::scratch_cursor cursor{scratch};
    detail::tap* const taps = cursor.take<detail::tap>(detail::list_bytes / sizeof(detail::tap));
    float* const packed =
        cursor.take<float>((to_size(s.in_channels) + detail::most_rows) * to_size(s.out_channels) * to_size(window));
    float* const gapped = cursor.take<float>(0);
    if (pack)
        detail::pack_rows(weights, packed, s.in_channels, rows, window, s.out_channels,
                          std::ptrdiff_t{s.in_channels} * window, window);
    const int pass = detail::channels_per_pass(s.out_channels, s.kernel_h, s.kernel_w, wide / parts + 1);

    detail::listed_sum work;
    work.taps = taps;
    work.vector_stride = gradient_plane;
    work.scalar_stride = std::ptrdiff_t{window} * rows;
    for (int n = 0; n < s.blocks; ++n) {
        detail::gap_rows(dy + n * (std::ptrdiff_t{s.out_channels} * s.out_height * s.out_width * block_samples), gapped,
                         s.out_channels * s.out_height, s.out_width, gap);
        float* const out = dx + n * (s.in_channels * in_plane);
        for (int h = 0; h < s.in_height; ++h) {
            int row_taps[largest_side], row_at[largest_side], row_count = 0;
            detail::reaching(h, 1, s.kernel_h, s.stride_h, s.pad_top, s.dilation_h, s.out_height,
                             detail::column_taps{row_taps, row_at, row_count});
            for (int phase = 0; phase < s.stride_w && phase < s.in_width; ++phase) {
                const int pixels = (s.in_width - phase + s.stride_w - 1) / s.stride_w;
                const int columns = pixels * parts;
                for (int first = 0; first < columns; first += wide) {
                    const int pixel = first / parts;
                    const int count = detail::smallest((first + wide - 1) / parts, pixels - 1) - pixel + 1;
                    int column_tap[largest_side], column_at[largest_side], column_count = 0;
                    detail::reaching(phase + pixel * s.stride_w, count, s.kernel_w, s.stride_w, s.pad_left,
                                     s.dilation_w, s.out_width,
                                     detail::column_taps{column_tap, column_at, column_count});
                    detail::tap* t = taps;
                    for (int r = 0; r < row_count; ++r)
                        for (int c = 0; c < column_count; ++c)
                            *t++ = {(row_at[r] * line + column_at[c]) * block_samples,
                                    (row_taps[r] * s.kernel_w + column_tap[c]) * rows};
                    work.tap_count = static_cast<int>(t - taps);

                    const float* vectors[detail::largest_columns];
                    for (int b = 0; b < wide; ++b) {
                        const int column = detail::smallest(first + b, columns - 1);
                        const int part = column % parts * width;
                        const int at = column / parts;
                        vectors[b] = gapped + (gap + at - pixel) * block_samples + part;
                        work.ends.out[b] =
                            out + (std::ptrdiff_t{h} * s.in_width + phase + at * s.stride_w) * block_samples + part;
                    }
                    for (int channel = 0; channel < s.out_channels; channel += pass) {
                        work.repeats = detail::smallest(pass, s.out_channels - channel);
                        for (int b = 0; b < wide; ++b) work.vectors[b] = vectors[b] + channel * gradient_plane;
                        for (int c = 0; c < s.in_channels; c += rows) {
                            for (int a = 0; a < rows; ++a)
                                work.ends.out_row[a] = detail::smallest(c + a, s.in_channels - 1) * in_plane;
                            if (channel == 0)
                                work.ends.start = detail::zero_vector;
                            else
                                work.ends.start = nullptr;
                            work.scalars =
                                packed + (std::ptrdiff_t{c} * s.out_channels + std::ptrdiff_t{channel} * rows) * window;
                            tile.run(work);
                        }
                    }
                }
            }
        }
    }
}

/// dw (OIHW) and db = the gradients summed over all samples, added to what is there when accumulate. db may be nullptr.
/// The padding samples of dy must be zero.
inline void conv_backward_weights(const float* x, const float* dy, float* dw, float* db, const conv_shape& s,
                                  bool accumulate, void* scratch) noexcept {
    const int window = s.kernel_h * s.kernel_w;
    const int taps = s.in_channels * window;
    const detail::tile_set<detail::plane_sum> tiles = detail::plane_tiles();
    const int parts = tiles.parts(), width = tiles.width;
    const bool copy = detail::needs_padding(s);
    const int fitting = detail::largest(1, detail::gradient_bytes / (5 * s.out_width * 64));
    const int most = copy ? detail::smallest(fitting, detail::band_rows(s)) : fitting;
    const int bands = (s.out_height + most - 1) / most;
    const int band = (s.out_height + bands - 1) / bands;
    const auto tile = tiles.cheapest(detail::covering{s.out_channels, taps, std::int64_t{band} * s.out_width});
    const int rows = tile.rows, wide = tile.columns;
    const int height = copy ? detail::rows_read(s, band) : s.in_height;
    const int line = copy ? detail::padded_width(s) : s.in_width;
    const std::ptrdiff_t in_plane = std::ptrdiff_t{height} * line * block_samples;
    const std::ptrdiff_t out_line = std::ptrdiff_t{s.out_width} * block_samples;
    const std::ptrdiff_t out_plane = s.out_height * out_line;

    detail::scratch_cursor cursor{scratch};
    float* const lanes = cursor.take<float>(detail::weight_count(s) * block_samples);
    float* const bias_lanes = cursor.take<float>(to_size(s.out_channels) * block_samples);
    float* const padded = cursor.take<float>(0);

    detail::plane_sum work;
    work.left_row = out_line;
    work.right_row = std::ptrdiff_t{s.stride_h} * line * block_samples;
    work.right_column = std::ptrdiff_t{s.stride_w} * block_samples;
    work.columns = s.out_width;
    for (int n = 0; n < s.blocks; ++n) {
        const float* const whole = x + n * (std::ptrdiff_t{s.in_channels} * s.in_height * s.in_width * block_samples);
        const float* const gradient = dy + n * (s.out_channels * out_plane);
        for (int top = 0; top < s.out_height; top += band) {
            work.rows = detail::smallest(band, s.out_height - top);
            const bool first_band = n == 0 && top == 0;
            if (copy) detail::pad_rows(whole, padded, s, top * s.stride_h, height, line);
            const float* const in = copy ? padded : whole + std::ptrdiff_t{top} * s.stride_h * line * block_samples;
            if (db != nullptr)
                detail::sum_planes(gradient + top * out_line, bias_lanes, s.out_channels, out_plane,
                                   std::ptrdiff_t{work.rows} * s.out_width, !first_band);
            for (int o = 0; o < s.out_channels; o += rows) {
                const float* left[detail::largest_rows];
                for (int a = 0; a < rows; ++a) {
                    const int row = detail::smallest(o + a, s.out_channels - 1);
                    left[a] = gradient + row * out_plane + top * out_line;
                    work.ends.out_row[a] = std::ptrdiff_t{row} * taps * block_samples;
                }
                int c = 0, kh = 0, kw = 0;
                for (int first = 0; first < taps; first += wide) {
                    const float* right[detail::largest_columns];
                    float* out[detail::largest_columns];
                    for (int b = 0; b < wide; ++b) {
                        right[b] = in + c * in_plane +
                                   (std::ptrdiff_t{kh * s.dilation_h} * line + kw * s.dilation_w) * block_samples;
                        out[b] = lanes + std::ptrdiff_t{detail::smallest(first + b, taps - 1)} * block_samples;
                        if (first + b + 1 >= taps) continue; // the last tile repeats the last tap
                        if (++kw < s.kernel_w) continue;
                        kw = 0;
                        if (++kh < s.kernel_h) continue;
                        kh = 0;
                        ++c;
                    }
                    for (int part = 0; part < parts; ++part) {
                        for (int a = 0; a < rows; ++a) work.left[a] = left[a] + part * width;
                        for (int b = 0; b < wide; ++b) {
                            work.right[b] = right[b] + part * width;
                            work.ends.out[b] = out[b] + part * width;
                        }
                        if (first_band)
                            work.ends.start = detail::zero_vector;
                        else
                            work.ends.start = nullptr;
                        tile.run(work);
                    }
                }
            }
        }
    }
    detail::sum_lanes(lanes, dw, static_cast<std::ptrdiff_t>(detail::weight_count(s)), accumulate);
    if (db != nullptr) detail::sum_lanes(bias_lanes, db, s.out_channels, accumulate);
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
