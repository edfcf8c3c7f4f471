// SPDX-License-Identifier: Apache-2.0
// Bodies of gradient_codes.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/task/gradient_codes.hpp"

namespace tessera::codes {

TESSERA_INLINE float quantize(const float* g, float* r, index_t n, std::byte* to) {
    std::int32_t most = 0;
    for (index_t i = 0; i < n; ++i) {
        most = std::max(most, magnitude(g[i] + r[i]));
    }
    const bool finite = most < infinite_magnitude;
    const float scale = finite ? std::bit_cast<float>(most) / static_cast<float>(largest_code) : not_a_number;
    if (!(scale > 0)) {
        for (index_t i = 0; i < n; ++i) {
            write<std::int8_t>(to, i, 0);
            r[i] = finite ? g[i] + r[i] : r[i];
        }
        return scale;
    }
    constexpr auto limit = static_cast<float>(largest_code); // a scale that has lost bits may be too small
    constexpr float rounder = 12582912;                      // 1.5 * 2^23, next to which floats are whole numbers
    for (index_t i = 0; i < n; ++i) {
        const float v = g[i] + r[i];
        const float nearly = std::min(std::max(v / scale, -limit), limit);
        const float code = (nearly + rounder) - rounder;
        write(to, i, static_cast<std::int8_t>(static_cast<std::int32_t>(code)));
        r[i] = v - code * scale;
    }
    return scale;
}

TESSERA_INLINE two_means take_signs(const float* g, float* r, index_t n, std::byte* bits, index_t first) {
    constexpr index_t lanes = 8; // sums of their own, added up in their order
    double sum[2][lanes]{};
    std::int32_t positive[lanes]{};
    std::int32_t most = 0;
    for (index_t i = 0; i < n; i += lanes) {
        for (index_t k = 0; k < lanes && i + k < n; ++k) {
            const float v = g[i + k] + r[i + k];
            sum[1][k] += v >= 0 ? static_cast<double>(v) : 0;
            sum[0][k] += v >= 0 ? 0 : static_cast<double>(v);
            positive[k] += v >= 0 ? 1 : 0;
            most = std::max(most, magnitude(v));
        }
    }
    if (most >= infinite_magnitude) {
        return {not_a_number, not_a_number};
    }
    const auto of = [](const auto* x) { return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])); };
    const auto mean = [](double total, index_t count) {
        return static_cast<float>(count > 0 ? total / static_cast<double>(count) : 0);
    };
    const index_t count = of(positive);
    const two_means m{mean(of(sum[1]), count), mean(of(sum[0]), n - count)};
    std::uint32_t word = 0;
    for (index_t i = 0; i < n; ++i) {
        const auto bit = static_cast<unsigned>((first + i) % 32);
        word |= static_cast<std::uint32_t>(g[i] + r[i] >= 0 ? 1 : 0) << bit;
        if (bit == 31 || i + 1 == n) {
            const index_t place = (first + i) / 32; // another block may have bits there
            write(bits, place, read<std::uint32_t>(bits, place) | word);
            word = 0;
        }
    }
    for (index_t i = 0; i < n; ++i) {
        const float v = g[i] + r[i];
        r[i] = v - (v >= 0 ? m.positive : m.negative);
    }
    return m;
}

TESSERA_INLINE void take_largest(const float* g, float* r, index_t n, index_t k, std::byte* to, std::int32_t* room) {
    std::int32_t most = 0;
    for (index_t i = 0; i < n; ++i) {
        const std::int32_t size = magnitude(g[i] + r[i]);
        room[i] = size;
        most = std::max(most, size);
    }
    if (most >= infinite_magnitude) { // there is no order
        for (index_t i = 0; i < k; ++i) {
            write(to, i, static_cast<std::uint32_t>(i));
            write(to, k + i, not_a_number);
        }
        return;
    }
    if (k == 0) {
        return;
    }
    std::int32_t* const last = room + k - 1;
    std::nth_element(room, last, room + n, [](std::int32_t a, std::int32_t b) { return a > b; });
    const std::int32_t least = *last; // of those that are sent
    index_t ties = std::count(room, room + k, least);
    index_t sent = 0;
    for (index_t i = 0; i < n; ++i) {
        const float v = g[i] + r[i];
        const std::int32_t size = magnitude(v);
        const bool goes = size > least || (size == least && ties-- > 0);
        r[i] = goes ? 0 : v;
        if (goes) {
            write(to, sent, static_cast<std::uint32_t>(i));
            write(to, k + sent, v);
            ++sent;
        }
    }
}

TESSERA_INLINE void compress(const compression_setting& compress, const float* gradient, float* residual, index_t n,
                             std::byte* words, std::int32_t* room) {
    const index_t blocks = compress.blocks(n);
    const auto elements = [&](index_t block) { return std::min<index_t>(compress.block, n - block * compress.block); };
    switch (compress.how) {
    case compression::eight_bits:
        for (index_t b = 0; b < blocks; ++b) {
            const index_t first = b * compress.block;
            write(words, b, quantize(gradient + first, residual + first, elements(b), words + 4 * blocks + first));
        }
        break;
    case compression::one_bit: {
        std::byte* const bits = words + 8 * blocks;
        std::memset(bits, 0, to_size((n + 31) / 32 * 4));
        for (index_t b = 0; b < blocks; ++b) {
            const index_t first = b * compress.block;
            const two_means m = take_signs(gradient + first, residual + first, elements(b), bits, first);
            write(words, 2 * b, m.positive);
            write(words, 2 * b + 1, m.negative);
        }
        break;
    }
    case compression::top_k:
        take_largest(gradient, residual, n, compress.kept(n), words, room);
        break;
    case compression::none:
        break;
    }
}

TESSERA_INLINE void add_decompressed(const compression_setting& compress, const std::byte* words, float* sum,
                                     index_t n) {
    const index_t blocks = compress.blocks(n);
    switch (compress.how) {
    case compression::eight_bits:
        for (index_t b = 0; b < blocks; ++b) {
            const auto scale = read<float>(words, b);
            const index_t end = std::min(n, (b + 1) * compress.block);
            for (index_t i = b * compress.block; i < end; ++i) {
                sum[i] += scale * static_cast<float>(read<std::int8_t>(words + 4 * blocks, i));
            }
        }
        break;
    case compression::one_bit:
        for (index_t b = 0; b < blocks; ++b) {
            const auto positive = read<float>(words, 2 * b);
            const auto negative = read<float>(words, 2 * b + 1);
            const index_t end = std::min(n, (b + 1) * compress.block);
            for (index_t i = b * compress.block; i < end; ++i) {
                const auto word = read<std::uint32_t>(words + 8 * blocks, i / 32);
                sum[i] += (word >> static_cast<unsigned>(i % 32) & 1U) != 0 ? positive : negative;
            }
        }
        break;
    case compression::top_k: {
        const index_t k = compress.kept(n);
        for (index_t i = 0; i < k; ++i) {
            const index_t which = read<std::uint32_t>(words, i);
            if (which < n) { // of words that nobody has written: a task that is timed by itself
                sum[which] += read<float>(words, k + i);
            }
        }
        break;
    }
    case compression::none:
        break;
    }
}

} // namespace tessera::codes

#include "tessera/base/end_header.inl"
