// SPDX-License-Identifier: Apache-2.0
// Compressed gradients: what a device sends of one, and what others read. All three ways are deterministic, and keep
// what they leave out for the next step (error feedback): Seide, Fu, Droppo, Li and Yu, "1-Bit Stochastic Gradient
// Descent and its Application to Data-Parallel Distributed Training of Speech DNNs" (Interspeech 2014); Karimireddy,
// Rebjock, Stich and Jaggi, "Error Feedback Fixes SignSGD and other Gradient Compression Schemes" (ICML
// 2019), algorithm 2, at a constant rate.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/compression.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace tessera::codes {

// A gradient of `n` elements goes as compression_setting::words(n) words of 4 bytes, at any address:
// - eight_bits: the scale of every block, then a signed byte for each element;
// - one_bit: the mean of what is not negative and that of what is, of every block, then a bit for each element, from
//   the least bit of each word on;
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

/// A float without its sign as a whole number, which orders floats that are not negative; what is not finite is at
/// least `infinite_magnitude`.
inline std::int32_t magnitude(float x) { return std::bit_cast<std::int32_t>(x) & 0x7fffffff; }
inline constexpr std::int32_t infinite_magnitude = 0x7f800000;

/// One block of a gradient g with what was left out before, r: v = g + r, s = max|v| / 127, and code = v / s to the
/// nearest, a half to the even one, so that
/// |v - s code| is at most s / 2. Returns the scale; `r` becomes v - s code. (The quantizer of Alistarh et al., "QSGD"
/// (NIPS 2017), by the largest magnitude of a block instead of its norm, and rounded to the nearest: what that is
/// biased by, error feedback sends later.) Where an element is not finite the scale is no number, which whoever updates
/// finds, and `r` stays.
float quantize(const float* g, float* r, index_t n, std::byte* to);

/// The two means of a block of v = g + r: Seide et al. quantize to the signs, and to the means of what has each sign,
/// which makes the squares of what is left out least. `r` becomes v minus its mean. Bits are those from `first` on,
/// which are 0 so far.
struct two_means {
    float positive = 0; ///< of elements of at least 0
    float negative = 0; ///< of others
};
two_means take_signs(const float* g, float* r, index_t n, std::byte* bits, index_t first);

/// The `k` elements of v = g + r of the largest magnitude, of equal ones those of the least index: Stich, Cordonnier
/// and Jaggi, "Sparsified SGD with Memory" (NeurIPS 2018), and, as "local gradient accumulation", Lin et al., "Deep
/// Gradient Compression" (ICLR 2018), without momentum correction. `r` becomes v without them. `room` is room for n
/// numbers.
void take_largest(const float* g, float* r, index_t n, index_t k, std::byte* to, std::int32_t* room);

/// Writes what a device sends of `n` elements of a gradient to `words`; `residual` is what it has left out so far, and
/// then what it leaves out now; `room` has compression_setting::scratch_bytes().
void compress(const compression_setting& compress, const float* gradient, float* residual, index_t n, std::byte* words,
              std::int32_t* room);

/// Adds to `sum` what words say of `n` elements of a gradient.
void add_decompressed(const compression_setting& compress, const std::byte* words, float* sum, index_t n);

} // namespace tessera::codes

#ifndef TESSERA_COMPILED
#include "tessera/task/gradient_codes.inl"
#endif

#include "tessera/base/end_header.inl"
