// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "limits.hpp"
#include "vector.hpp"

/// Convolutions on sample-blocked tensors [ceil(N/16)][C][H][W][16]; shapes and scratch sizes are in shapes.hpp, what
/// the kernels cannot do in limits.hpp. Scratch is only used during a call, except that packed weights stay in it.
/// conv_gradient_n16.hpp has the backward passes.
namespace tessera::host::kernels {

namespace detail {

/// The tiles for sums over a list, of the active instruction set.
[[nodiscard]] inline tile_set<listed_sum> listed_tiles() noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::listed_tiles();
    case instruction_set::avx2:
        return avx2::listed_tiles();
    case instruction_set::portable:
        break;
    }
    return portable::listed_tiles();
}

/// Weights for tiles of `group` rows: packed[group][outer][inner][row] = weights[row * row_stride + outer *
/// outer_stride + inner]. The last group repeats the last row.
inline void pack_rows(const float* weights, float* packed, int rows, int group, std::ptrdiff_t row_stride, int outer,
                      std::ptrdiff_t outer_stride, int inner) noexcept {
    for (int first = 0; first < rows; first += group)
        for (int o = 0; o < outer; ++o, packed += std::ptrdiff_t{inner} * group)
            for (int a = 0; a < group; ++a) {
                const float* const from = weights + smallest(first + a, rows - 1) * row_stride + o * outer_stride;
                float* to = packed + a;
                for (int i = 0; i < inner; ++i, to += group) *to = from[i];
            }
}

/// Rows [first, first + rows) of the input with a border of zeros: [channels][rows][padded width][16]. Row 0 is the
/// first row of the border.
inline void pad_rows(const float* x, float* padded, const conv_shape& s, int first, int rows,
                     int padded_columns) noexcept {
    const std::size_t pixel = sizeof(float) * block_samples;
    const int columns = smallest(s.in_width, padded_columns - s.pad_left);
    for (int c = 0; c < s.in_channels; ++c)
        for (int r = 0; r < rows; ++r) {
            const int h = first + r - s.pad_top;
            if (h < 0 || h >= s.in_height) {
                std::memset(padded, 0, pixel * to_size(padded_columns));
            } else {
                std::memset(padded, 0, pixel * to_size(s.pad_left));
                std::memcpy(padded + s.pad_left * block_samples,
                            x + (std::ptrdiff_t{c} * s.in_height + h) * s.in_width * block_samples,
                            pixel * to_size(columns));
                std::memset(padded + (s.pad_left + columns) * block_samples, 0,
                            pixel * to_size(padded_columns - s.pad_left - columns));
            }
            padded += padded_columns * block_samples;
        }
}

/// Output rows per band, so that the padded rows of a band stay in the second-level cache.
[[nodiscard]] inline int band_rows(const conv_shape& s) noexcept {
    constexpr std::size_t cache = 448 * 1024;
    const int fitting = static_cast<int>(cache / (to_size(s.in_channels) * to_size(padded_width(s)) * 64));
    const int most = largest(1, (fitting - (s.kernel_h - 1) * s.dilation_h - 1) / s.stride_h + 1);
    const int bands = (s.out_height + most - 1) / most;
    return (s.out_height + bands - 1) / bands;
}

/// Input rows that a band of output rows reads.
[[nodiscard]] inline int rows_read(const conv_shape& s, int output_rows) noexcept {
    return (output_rows - 1) * s.stride_h + (s.kernel_h - 1) * s.dilation_h + 1;
}

/// Bytes of a tile's operand that one pass reads, about what the first-level cache holds.
inline constexpr int operand_bytes = 40 * 1024;

/// Channels per pass, so that a tile's window over them stays about in the first-level cache.
[[nodiscard]] inline int channels_per_pass(int channels, int kernel_h, int kernel_w, int pixels) noexcept {
    const int most_taps = static_cast<int>(list_bytes / sizeof(tap)) / (kernel_h * kernel_w);
    const int fitting = operand_bytes / (kernel_h * (kernel_w + pixels) * 64);
    const int most = largest(1, smallest(fitting, most_taps));
    const int passes = (channels + most - 1) / most;
    return (channels + passes - 1) / passes;
}

/// Where the elements of a window over `channels` channels are, from its first one, and their weights.
inline void list_taps(tap* taps, const conv_shape& s, int channels, std::ptrdiff_t in_plane, int line,
                      int rows) noexcept {
    int count = 0;
    for (int c = 0; c < channels; ++c)
        for (int h = 0; h < s.kernel_h; ++h)
            for (int w = 0; w < s.kernel_w; ++w, ++count)
                taps[count] = {static_cast<std::int32_t>(c * in_plane + (h * s.dilation_h * line + w * s.dilation_w) *
                                                                            std::ptrdiff_t{block_samples}),
                               count * rows};
}

/// What sums start with: a vector for each channel, and for the rows of the last tile behind them.
inline void repeat_bias(float* start, const float* bias, int channels) noexcept {
    for (int o = 0; o < channels + largest_rows; ++o)
        for (int lane = 0; lane < block_samples; ++lane)
            start[o * block_samples + lane] = bias == nullptr ? 0.0F : bias[smallest(o, channels - 1)];
}

/// The columns of a band, tile by tile: output pixels in row-major order, each in so many parts of its samples.
struct column_walk {
    const conv_shape& s;
    const float* in;
    float* out;
    int line; ///< of the input
    int parts;
    int width; ///< samples of a part
    int oh = 0, ow = 0, part = 0;

    /// Where the inputs of the next tile's columns begin, and where their results go; the last tile, with `left`
    /// columns or less, repeats the last one.
    void next(const float** vectors, float** to, int wide, int left) noexcept {
        if (parts == 1 && ow + wide <= s.out_width) { // of one row
            const float* const at = in + (std::ptrdiff_t{oh} * s.stride_h * line + ow * s.stride_w) * block_samples;
            float* const first = out + (std::ptrdiff_t{oh} * s.out_width + ow) * block_samples;
            for (int b = 0; b < wide; ++b) {
                vectors[b] = at + b * (s.stride_w * block_samples);
                to[b] = first + b * block_samples;
            }
            ow += wide;
            if (ow == s.out_width) {
                ow = 0;
                ++oh;
            }
            return;
        }
        for (int b = 0; b < wide; ++b) {
            vectors[b] = in + (std::ptrdiff_t{oh} * s.stride_h * line + ow * s.stride_w) * block_samples + part * width;
            to[b] = out + (std::ptrdiff_t{oh} * s.out_width + ow) * block_samples + part * width;
            if (b + 1 >= left) continue;
            if (++part < parts) continue;
            part = 0;
            if (++ow < s.out_width) continue;
            ow = 0;
            ++oh;
        }
    }
};

} // namespace detail

/// y = conv(x, weights) + bias, then clipped at zero when relu. bias may be nullptr. pack = false reuses the weights
/// that an earlier call with this scratch, these weights and this shape (blocks aside) has packed.
inline void conv_forward(const float* x, const float* weights, const float* bias, float* y, const conv_shape& s,
                         bool relu, bool pack, void* scratch) noexcept {
    const bool copy = detail::needs_padding(s);
    const int full_band = copy ? detail::band_rows(s) : s.out_height;
    int band = full_band;
    const int height = copy ? detail::rows_read(s, band) : s.in_height;
    const int line = copy ? detail::padded_width(s) : s.in_width;
    const detail::tile_set<detail::listed_sum> tiles = detail::listed_tiles();
    const int parts = tiles.parts(), width = tiles.width;
    const auto tile = tiles.cheapest(
        detail::covering{s.out_channels, band * s.out_width * parts, s.in_channels * s.kernel_h * s.kernel_w});
    const int rows = tile.rows, wide = tile.columns;
    const int window = s.kernel_h * s.kernel_w;
    const int in_plane_taps = s.in_channels * window;

    detail::scratch_cursor cursor{scratch};
    detail::tap* const taps = cursor.take<detail::tap>(detail::list_bytes / sizeof(detail::tap));
    float* const packed = cursor.take<float>((to_size(s.out_channels) + detail::most_rows) * to_size(in_plane_taps));
    float* const start = cursor.take<float>((to_size(s.out_channels) + detail::most_rows) * block_samples);
    float* const padded = cursor.take<float>(0);
    if (pack) detail::pack_rows(weights, packed, s.out_channels, rows, in_plane_taps, 1, 0, in_plane_taps);

    const int pass = detail::channels_per_pass(s.in_channels, s.kernel_h, s.kernel_w, (wide / parts + 1) * s.stride_w);
    const std::ptrdiff_t in_plane = std::ptrdiff_t{height} * line * block_samples;
    const std::ptrdiff_t out_plane = std::ptrdiff_t{s.out_height} * s.out_width * block_samples;
    detail::list_taps(taps, s, pass, in_plane, line, rows);

    detail::listed_sum work;
    work.taps = taps;
    detail::repeat_bias(start, bias, s.out_channels);
    work.ends.start_row = block_samples;
    for (int item = 0; item < s.blocks * s.out_height; item += band) {
        const int n = item / s.out_height, top = item % s.out_height;
        band = detail::smallest(full_band, s.out_height - top);
        const float* in = x + n * (std::ptrdiff_t{s.in_channels} * s.in_height * s.in_width * block_samples);
        float* const out = y + n * (s.out_channels * out_plane) + std::ptrdiff_t{top} * s.out_width * block_samples;
        if (copy) {
            detail::pad_rows(in, padded, s, top * s.stride_h, height, line);
            in = padded;
        }
        const int columns = band * s.out_width * parts;
        detail::column_walk walk{s, in, out, line, parts, width};
        for (int first = 0; first < columns; first += wide) {
            const float* vectors[detail::largest_columns];
            walk.next(vectors, work.ends.out, wide, columns - first);
            for (int channel = 0; channel < s.in_channels; channel += pass) {
                const int channels = detail::smallest(pass, s.in_channels - channel);
                work.tap_count = channels * window;
                for (int b = 0; b < wide; ++b) work.vectors[b] = vectors[b] + channel * in_plane;
                work.ends.relu = relu && channel + channels == s.in_channels;
                for (int o = 0; o < s.out_channels; o += rows) {
                    for (int a = 0; a < rows; ++a)
                        work.ends.out_row[a] = detail::smallest(o + a, s.out_channels - 1) * out_plane;
                    if (channel == 0)
                        work.ends.start = start + o * block_samples;
                    else
                        work.ends.start = nullptr;
                    work.scalars =
                        packed + (std::ptrdiff_t{o} * in_plane_taps + std::ptrdiff_t{channel} * window * rows);
                    tile.run(work);
                }
            }
        }
    }
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
