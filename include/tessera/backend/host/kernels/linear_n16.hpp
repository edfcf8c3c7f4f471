// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "lanes.hpp"
#include "limits.hpp"
#include "transpose_n16.hpp"

/// Fully connected layers on sample-blocked tensors [ceil(N/16)][features][16]; weights are [outputs][inputs].
namespace tessera::host::kernels {

namespace detail {

/// The tiles for sums over evenly spaced terms, of the active instruction set.
[[nodiscard]] inline tile_set<strided_sum> strided_tiles() noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::strided_tiles();
    case instruction_set::avx2:
        return avx2::strided_tiles();
    case instruction_set::portable:
        break;
    }
    return portable::strided_tiles();
}

/// Where column `column` of a tile over (block, part of its 16 samples) begins, in floats.
[[nodiscard]] inline std::ptrdiff_t sample_column(int column, int width, std::ptrdiff_t block_stride) noexcept {
    const int parts = block_samples / width;
    return column / parts * block_stride + column % parts * width;
}

/// y[blocks][outputs][16] = the sum over `inputs` of scalar(output, input) * x[blocks][inputs][16].
inline void linear_product(const float* x, const float* scalars, std::ptrdiff_t output_stride,
                           std::ptrdiff_t input_stride, const float* bias, float* y, int blocks, int inputs,
                           int outputs, bool relu) noexcept {
    const tile_set<strided_sum> tiles = strided_tiles();
    const int width = tiles.width;
    const int columns = blocks * tiles.parts();
    const auto tile = tiles.cheapest(covering{outputs, columns, inputs});
    const int rows = tile.rows, wide = tile.columns;
    constexpr int pass = 512; // inputs at a time, so that their vectors stay in the second-level cache

    strided_sum work;
    work.ends.start_row = block_samples;
    work.vector_stride = block_samples;
    work.scalar_stride = input_stride;
    float start[most_rows * block_samples] = {};
    for (int first = 0; first < columns; first += wide)
        for (int input = 0; input < inputs || input == 0; input += pass) {
            work.count = smallest(pass, inputs - input);
            work.ends.relu = relu && input + pass >= inputs;
            for (int b = 0; b < wide; ++b) {
                const int column = smallest(first + b, columns - 1);
                work.vectors[b] =
                    x + sample_column(column, width, std::ptrdiff_t{inputs} * block_samples) + input * block_samples;
                work.ends.out[b] = y + sample_column(column, width, std::ptrdiff_t{outputs} * block_samples);
            }
            for (int o = 0; o < outputs; o += rows) {
                for (int a = 0; a < rows; ++a) {
                    const int row = smallest(o + a, outputs - 1);
                    work.scalars[a] = scalars + row * output_stride + input * input_stride;
                    work.ends.out_row[a] = std::ptrdiff_t{row} * block_samples;
                    for (int lane = 0; lane < block_samples && bias != nullptr; ++lane)
                        start[a * block_samples + lane] = bias[row];
                }
                if (input == 0)
                    work.ends.start = start;
                else
                    work.ends.start = nullptr;
                tile.run(work);
            }
        }
}

} // namespace detail

/// y = weights x + bias, then clipped at zero when relu. bias may be nullptr.
inline void linear_forward(const float* x, const float* weights, const float* bias, float* y, const linear_shape& s,
                           bool relu) noexcept {
    detail::linear_product(x, weights, s.inputs, 1, bias, y, s.blocks, s.inputs, s.outputs, relu);
}

/// dx = the gradient with respect to x, overwritten.
inline void linear_backward_data(const float* dy, const float* weights, float* dx, const linear_shape& s) noexcept {
    detail::linear_product(dy, weights, 1, s.inputs, nullptr, dx, s.blocks, s.outputs, s.inputs, false);
}

/// dw and db = the gradients summed over all samples, added to what is there when accumulate. db may be nullptr. The
/// padding samples of dy must be zero.
inline void linear_backward_weights(const float* x, const float* dy, float* dw, float* db, const linear_shape& s,
                                    bool accumulate, void* scratch) noexcept {
    // With the inputs side by side in a vector no sum over lanes is left.
    const int padded = static_cast<int>(detail::round_up(to_size(s.inputs), 16));
    detail::scratch_cursor cursor{scratch};
    float* const plain = cursor.take<float>(to_size(s.blocks) * 16 * to_size(padded));
    to_plain(x, plain, std::ptrdiff_t{s.blocks} * block_samples, s.inputs, padded);

    const detail::tile_set<detail::strided_sum> tiles = detail::strided_tiles();
    const int width = tiles.width;
    const int columns = (s.inputs + width - 1) / width;
    const auto tile = tiles.cheapest(detail::covering{s.outputs, columns, std::int64_t{s.blocks} * block_samples});
    const int rows = tile.rows, wide = tile.columns;
    float edge[detail::most_rows * detail::most_columns * block_samples];
    if (accumulate) std::memset(edge, 0, sizeof(edge));
    detail::strided_sum work;
    work.count = block_samples;
    work.repeats = s.blocks;
    work.vector_stride = padded;
    work.vector_repeat = std::ptrdiff_t{padded} * block_samples;
    work.scalar_stride = 1;
    work.scalar_repeat = std::ptrdiff_t{s.outputs} * block_samples;
    const std::ptrdiff_t edge_row = std::ptrdiff_t{wide} * width;
    for (int first = 0; first < columns; first += wide) {
        const int left = s.inputs - first * width;
        const bool partial = left < edge_row; // goes through `edge`, so that nothing is written past a row
        const std::size_t row_bytes = sizeof(float) * to_size(detail::smallest(left, static_cast<int>(edge_row)));
        for (int b = 0; b < wide; ++b) work.vectors[b] = plain + detail::smallest(first + b, columns - 1) * width;
        for (int o = 0; o < s.outputs; o += rows) {
            float* const to = dw + std::ptrdiff_t{o} * s.inputs + first * width;
            const int live = detail::smallest(rows, s.outputs - o);
            for (int a = 0; a < rows; ++a) {
                const int row = detail::smallest(a, live - 1);
                work.scalars[a] = dy + (o + row) * block_samples;
                work.ends.out_row[a] = partial ? row * edge_row : std::ptrdiff_t{row} * s.inputs;
            }
            for (int b = 0; b < wide; ++b) work.ends.out[b] = (partial ? edge : to) + b * width;
            if (partial && accumulate)
                for (int a = 0; a < live; ++a)
                    std::memcpy(edge + a * edge_row, to + std::ptrdiff_t{a} * s.inputs, row_bytes);
            work.ends.start = accumulate ? nullptr : detail::zero_vector;
            tile.run(work);
            if (partial)
                for (int a = 0; a < live; ++a)
                    std::memcpy(to + std::ptrdiff_t{a} * s.inputs, edge + a * edge_row, row_bytes);
        }
    }
    if (db != nullptr) {
        float lanes[block_samples];
        for (int o = 0; o < s.outputs; ++o) {
            detail::sum_planes(dy + o * block_samples, lanes, 1, 0, 0, false);
            for (int n = 0; n < s.blocks; ++n)
                detail::sum_planes(dy + (std::ptrdiff_t{n} * s.outputs + o) * block_samples, lanes, 1, 0, 1, true);
            detail::sum_lanes(lanes, db + o, 1, accumulate);
        }
    }
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
