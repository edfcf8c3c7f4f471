// SPDX-License-Identifier: Apache-2.0
// Tiles whose elements of one channel lie in contiguous rows: [blocks][channels][length].
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/call.hpp"

namespace tessera::host::detail {

inline float* floats(void* p) { return static_cast<float*>(p); }

/// Plain: a block is a sample, a row its plane. Blocks of 16 samples: a row holds 16 samples of a plane side by side.
/// Channels last: a block is a pixel, a row one element.
struct channel_rows {
    index_t blocks = 0;
    index_t channels = 0;
    index_t length = 0;
    int lanes = 1;     ///< samples side by side
    int last_live = 1; ///< those of the last block that are not there to fill it up

    channel_rows() = default;
    channel_rows(const shape& s, int f);

    index_t at(index_t block, index_t channel) const { return (block * channels + channel) * length; }
    int live(index_t block) const { return block + 1 == blocks ? last_live : lanes; }

    /// Calls body(place, place % 16) along a row; the inner loop has a fixed length, which compilers vectorize most
    /// readily.
    template <class Body>
    void for_each(Body&& body) const {
        index_t i = 0;
        for (; i + 16 <= length; i += 16) {
            for (int k = 0; k < 16; ++k) {
                body(i + k, k);
            }
        }
        for (int k = 0; i + k < length; ++k) {
            body(i + k, k);
        }
    }

    /// to[i] = f(i, i % 16) along a row, which may be a row that f reads.
    template <class Function>
    void write(float* to, Function&& f) const {
        index_t i = 0;
        for (; i + 16 <= length; i += 16) {
            float made[16];
            for (int k = 0; k < 16; ++k) {
                made[k] = f(i + k, k);
            }
            for (int k = 0; k < 16; ++k) {
                to[i + k] = made[k];
            }
        }
        for (int k = 0; i + k < length; ++k) {
            to[i + k] = f(i + k, k);
        }
    }

    /// The sum of 16 partial sums, in blocks of samples of those of real samples.
    double sum_live(const double (&partial)[16], index_t block) const;

    /// Zeros where a row has no real sample: gradients rely on it.
    void clear_rest(float* row, index_t block) const;
};

} // namespace tessera::host::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/channel_rows.inl"
#endif

#include "tessera/base/end_header.inl"
