// SPDX-License-Identifier: Apache-2.0
// Compressed gradients: what a device sends of one, and what others read. All three ways are deterministic, and keep what they leave out for the next
// step (error feedback): Seide, Fu, Droppo, Li and Yu, "1-Bit Stochastic Gradient Descent and its Application to Data-Parallel Distributed Training of
// Speech DNNs" (Interspeech 2014); Karimireddy, Rebjock, Stich and Jaggi, "Error Feedback Fixes SignSGD and other Gradient Compression Schemes" (ICML
// 2019), algorithm 2, at a constant rate.
#pragma once

#include "tessera/strategy/compression.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace tessera::codes {

// A gradient of `n` elements goes as compression_setting::words(n) words of 4 bytes, at any address:
// - eight_bits: the scale of every block, then a signed byte for each element;
// - one_bit: the mean of what is not negative and that of what is, of every block, then a bit for each element, from the least bit of each word on;
// - top_k: indices in increasing order, then values.

template <class T>
T read(const std::byte* words, index_t i) {
    T x;
    std::memcpy(&x, words + i * static_cast<index_t>(sizeof(T)), sizeof(T));
    return x;
}
template <class T>
void write(std::byte* words, index_t i, T x) {
    std::memcpy(words + i * static_cast<index_t>(sizeof(T)), &x, sizeof(T));
}

inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
inline constexpr int largest_code = 127;

/// One block of a gradient g with what was left out before, r: v = g + r, s = max|v| / 127, and code = v / s to the nearest, a half to the even one, so that
/// |v - s code| is at most s / 2. Returns the scale; `r` becomes v - s code. (The quantizer of Alistarh et al., "QSGD" (NIPS 2017), by the largest
/// magnitude of a block instead of its norm, and rounded to the nearest: what that is biased by, error feedback sends later.) Where an element is
/// not finite the scale is no number, which whoever updates finds, and `r` stays.
inline float quantize(const float* g, float* r, index_t n, std::byte* to) {
    float most = 0;
    bool finite = true;
    for (index_t i = 0; i < n; ++i) {
        const float v = std::fabs(g[i] + r[i]);
        finite = finite && v <= std::numeric_limits<float>::max();
        most = v > most ? v : most;
    }
    const float scale = finite ? most / static_cast<float>(largest_code) : not_a_number;
    if (!(scale > 0)) {
        for (index_t i = 0; i < n; ++i) {
            write<std::int8_t>(to, i, 0);
            r[i] = finite ? g[i] + r[i] : r[i];
        }
        return scale;
    }
    for (index_t i = 0; i < n; ++i) {
        const float v = g[i] + r[i];
        const auto limit = static_cast<float>(largest_code); // a scale that has lost bits may be too small
        const float code = std::clamp(std::nearbyint(v / scale), -limit, limit);
        write(to, i, static_cast<std::int8_t>(code));
        r[i] = v - code * scale;
    }
    return scale;
}

/// The two means of a block of v = g + r: Seide et al. quantize to the signs, and to the means of what has each sign, which makes the squares of what is left
/// out least. `r` becomes v minus its mean. Bits are those from `first` on, which are 0 so far.
struct two_means {
    float positive = 0; ///< of elements of at least 0
    float negative = 0; ///< of others
};
inline two_means take_signs(const float* g, float* r, index_t n, std::byte* bits, index_t first) {
    double sum[2]{};
    index_t count[2]{};
    for (index_t i = 0; i < n; ++i) {
        const float v = g[i] + r[i];
        sum[v >= 0 ? 1 : 0] += static_cast<double>(v);
        ++count[v >= 0 ? 1 : 0];
    }
    const auto mean = [&](int of) { return count[of] > 0 ? sum[of] / static_cast<double>(count[of]) : 0; };
    const two_means m{static_cast<float>(mean(1)), static_cast<float>(mean(0))};
    if (!std::isfinite(m.positive) || !std::isfinite(m.negative)) {
        return {not_a_number, not_a_number};
    }
    for (index_t i = 0; i < n; ++i) {
        const float v = g[i] + r[i];
        const index_t word = (first + i) / 32;
        const auto bit = static_cast<std::uint32_t>(v >= 0 ? 1 : 0) << static_cast<unsigned>((first + i) % 32);
        write(bits, word, read<std::uint32_t>(bits, word) | bit);
        r[i] = v - (v >= 0 ? m.positive : m.negative);
    }
    return m;
}

/// The `k` elements of v = g + r of the largest magnitude, of equal ones those of the least index: Stich, Cordonnier and Jaggi, "Sparsified SGD with Memory"
/// (NeurIPS 2018), and, as "local gradient accumulation", Lin et al., "Deep Gradient Compression" (ICLR 2018), without momentum correction.
/// `r` becomes v without them. `order` is room for n indices.
inline void take_largest(const float* g, float* r, index_t n, index_t k, std::byte* to,
                         std::vector<std::uint32_t>& order) {
    bool finite = true;
    for (index_t i = 0; i < n; ++i) {
        finite = finite && std::isfinite(g[i] + r[i]);
    }
    for (index_t i = 0; i < k && !finite; ++i) { // there is no order
        write(to, i, static_cast<std::uint32_t>(i));
        write(to, k + i, not_a_number);
    }
    if (!finite) {
        return;
    }
    order.resize(static_cast<std::size_t>(n));
    for (index_t i = 0; i < n; ++i) {
        r[i] += g[i];
        order[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(i);
    }
    std::nth_element(order.begin(), order.begin() + k, order.end(), [r](std::uint32_t a, std::uint32_t b) {
        const float x = std::fabs(r[a]);
        const float y = std::fabs(r[b]);
        return x != y ? x > y : a < b;
    });
    std::sort(order.begin(), order.begin() + k);
    for (index_t i = 0; i < k; ++i) {
        const std::uint32_t which = order[static_cast<std::size_t>(i)];
        write(to, i, which);
        write(to, k + i, r[which]);
        r[which] = 0;
    }
}

/// Writes what a device sends of `n` elements of a gradient to `words`; `residual` is what it has left out so far, and then what it leaves out now.
inline void compress(const compression_setting& how, const float* gradient, float* residual, index_t n,
                     std::byte* words, std::vector<std::uint32_t>& order) {
    const index_t blocks = how.blocks(n);
    const auto elements = [&](index_t block) { return std::min<index_t>(how.block, n - block * how.block); };
    switch (how.how) {
    case compression::eight_bits:
        for (index_t b = 0; b < blocks; ++b) {
            const index_t first = b * how.block;
            write(words, b, quantize(gradient + first, residual + first, elements(b), words + 4 * blocks + first));
        }
        break;
    case compression::one_bit: {
        std::byte* const bits = words + 8 * blocks;
        std::memset(bits, 0, static_cast<std::size_t>((n + 31) / 32 * 4));
        for (index_t b = 0; b < blocks; ++b) {
            const index_t first = b * how.block;
            const two_means m = take_signs(gradient + first, residual + first, elements(b), bits, first);
            write(words, 2 * b, m.positive);
            write(words, 2 * b + 1, m.negative);
        }
        break;
    }
    case compression::top_k:
        take_largest(gradient, residual, n, how.kept(n), words, order);
        break;
    case compression::none:
        break;
    }
}

/// Adds to `sum` what words say of `n` elements of a gradient.
inline void add_decompressed(const compression_setting& how, const std::byte* words, float* sum, index_t n) {
    const index_t blocks = how.blocks(n);
    switch (how.how) {
    case compression::eight_bits:
        for (index_t b = 0; b < blocks; ++b) {
            const auto scale = read<float>(words, b);
            const index_t end = std::min(n, (b + 1) * how.block);
            for (index_t i = b * how.block; i < end; ++i) {
                sum[i] += scale * static_cast<float>(read<std::int8_t>(words + 4 * blocks, i));
            }
        }
        break;
    case compression::one_bit:
        for (index_t b = 0; b < blocks; ++b) {
            const auto positive = read<float>(words, 2 * b);
            const auto negative = read<float>(words, 2 * b + 1);
            const index_t end = std::min(n, (b + 1) * how.block);
            for (index_t i = b * how.block; i < end; ++i) {
                const auto word = read<std::uint32_t>(words + 8 * blocks, i / 32);
                sum[i] += (word >> static_cast<unsigned>(i % 32) & 1U) != 0 ? positive : negative;
            }
        }
        break;
    case compression::top_k: {
        const index_t k = how.kept(n);
        for (index_t i = 0; i < k; ++i) {
            sum[read<std::uint32_t>(words, i)] += read<float>(words, k + i);
        }
        break;
    }
    case compression::none:
        break;
    }
}

} // namespace tessera::codes
