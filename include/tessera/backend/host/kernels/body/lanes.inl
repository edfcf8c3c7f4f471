// SPDX-License-Identifier: Apache-2.0
// Sums over the lanes of vectors and over planes. See vector.hpp.

/// out[i] = (accumulate ? out[i] : 0) + the sum of the 16 lanes of lanes[i], in a fixed order.
inline void sum_lanes(const float* lanes, float* out, std::ptrdiff_t count, bool accumulate) noexcept {
    for (std::ptrdiff_t first = 0; first < count; first += width) {
        vec v[width];
        const std::ptrdiff_t live = count - first < width ? count - first : width;
        for (int i = 0; i < width; ++i) {
            const float* at = lanes + (first + (i < live ? i : live - 1)) * block_samples;
            vec sum = load(at);
            for (int p = 1; p < parts; ++p) sum += load(at + p * width);
            v[i] = sum;
        }
        for (int left = width / 2; left > 0; left /= 2)
            for (int i = 0; i < left; ++i)
                v[i] = interleave_low(v[i], v[i + left]) + interleave_high(v[i], v[i + left]);
        if (live == width) {
            store(out + first, accumulate ? load(out + first) + v[0] : v[0]);
        } else {
            float tail[width];
            store(tail, v[0]);
            for (std::ptrdiff_t i = 0; i < live; ++i) out[first + i] = accumulate ? out[first + i] + tail[i] : tail[i];
        }
    }
}

/// lanes[row][16] += the sum over each row's vectors.
inline void sum_planes(const float* dy, float* lanes, int rows, std::ptrdiff_t row_stride, std::ptrdiff_t count,
                       bool accumulate) noexcept {
    for (int r = 0; r < rows; ++r)
        for (int p = 0; p < parts; ++p) {
            const float* at = dy + r * row_stride + p * width;
            float* const out = lanes + std::ptrdiff_t{r} * block_samples + p * width;
            vec sum[4] = {accumulate ? load(out) : vec{}, vec{}, vec{}, vec{}};
            std::ptrdiff_t i = 0;
            for (; i + 4 <= count; i += 4)
                for (int k = 0; k < 4; ++k) sum[k] += load(at + (i + k) * block_samples);
            for (; i < count; ++i) sum[0] += load(at + i * block_samples);
            store(out, (sum[0] + sum[1]) + (sum[2] + sum[3]));
        }
}
