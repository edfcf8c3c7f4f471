// SPDX-License-Identifier: Apache-2.0
// Between plain [N][L] and blocked [ceil(N/16)][L][16]. See vector.hpp.

/// Transposes a square in registers: log2(width) perfect shuffles.
[[gnu::always_inline]] inline void transpose_square(vec (&v)[width]) noexcept {
    vec t[width];
#pragma GCC unroll 4
    for (int stage = width; stage > 1; stage /= 2) {
#pragma GCC unroll 16
        for (int i = 0; i < width / 2; ++i) {
            t[2 * i] = interleave_low(v[i], v[i + width / 2]);
            t[2 * i + 1] = interleave_high(v[i], v[i + width / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < width; ++i) v[i] = t[i];
    }
}

/// Plain rows [samples][length], `row_stride` floats apart, into blocks; missing samples become zeros.
inline void to_blocked(const float* plain, float* blocked, std::ptrdiff_t samples, std::ptrdiff_t length,
                       std::ptrdiff_t row_stride) noexcept {
    for (std::ptrdiff_t n = 0; n < samples; n += block_samples, blocked += length * block_samples)
        for (int part = 0; part < block_samples; part += width) {
            const float* const from = plain + (n + part) * row_stride;
            const std::ptrdiff_t present = samples - n - part;
            std::ptrdiff_t i = 0;
            for (; present >= width && i + width <= length; i += width) {
                vec v[width];
#pragma GCC unroll 16
                for (int r = 0; r < width; ++r) v[r] = load(from + r * row_stride + i);
                transpose_square(v);
#pragma GCC unroll 16
                for (int r = 0; r < width; ++r) store(blocked + (i + r) * block_samples + part, v[r]);
            }
            for (; i < length; ++i)
                for (int r = 0; r < width; ++r)
                    blocked[i * block_samples + part + r] = r < present ? from[r * row_stride + i] : 0.0F;
        }
}

/// Blocks into plain rows [samples][length], `row_stride` floats apart; the samples that pad the last block are
/// dropped.
inline void to_plain(const float* blocked, float* plain, std::ptrdiff_t samples, std::ptrdiff_t length,
                     std::ptrdiff_t row_stride) noexcept {
    for (std::ptrdiff_t n = 0; n < samples; n += block_samples, blocked += length * block_samples)
        for (int part = 0; part < block_samples; part += width) {
            float* const to = plain + (n + part) * row_stride;
            const std::ptrdiff_t present = samples - n - part;
            std::ptrdiff_t i = 0;
            for (; present >= width && i + width <= length; i += width) {
                vec v[width];
#pragma GCC unroll 16
                for (int r = 0; r < width; ++r) v[r] = load(blocked + (i + r) * block_samples + part);
                transpose_square(v);
#pragma GCC unroll 16
                for (int r = 0; r < width; ++r) store(to + r * row_stride + i, v[r]);
            }
            for (; i < length; ++i)
                for (int r = 0; r < width; ++r)
                    if (r < present) to[r * row_stride + i] = blocked[i * block_samples + part + r];
        }
}
