// SPDX-License-Identifier: Apache-2.0
// What the kernels of normalizations of rows and of rotary positions are given.
#pragma once
#include "tessera/base/begin_header.inl"

#include <cstddef>

namespace tessera::host::kernels {

/// Rows [rows][channels] that are normalized: less their mean and over their deviation (layer norm), or over the root
/// of their mean square (RMS norm, which has neither mean nor beta). A shard may have a part of each row's channels.
struct norm_work {
    const float* x = nullptr;
    const float* gamma = nullptr;
    const float* beta = nullptr; ///< of layer norm alone
    float* y = nullptr;
    double* sums = nullptr;    ///< of each row: of layer norm alone
    double* squares = nullptr; ///< of each row: the sum of squares
    const float* dy = nullptr;
    float* dx = nullptr;
    float* dgamma = nullptr; ///< null: nobody asks
    float* dbeta = nullptr;  ///< likewise
    bool emits_sums = false; ///< the next two are made; else read
    double* dsums = nullptr; ///< layer norm: of dy * gamma. RMS norm has none
    double* dsquares =
        nullptr; ///< layer norm: the sum of dy * gamma * normalized; RMS norm: the gradient of the sum of squares
    std::ptrdiff_t rows = 0, channels = 0;
    double count = 1; ///< channels of a whole row
    double epsilon = 0;
};

/// Heads [samples][positions][heads][2 * pairs] of which pairs of channels are turned.
struct rotary_work {
    const float* from = nullptr;
    float* to = nullptr;
    const float* cosine = nullptr; ///< [positions][row]: a row is 2 * pairs for neighbours, pairs for halves
    const float* sine = nullptr;   ///< of neighbours with the sign of what it multiplies
    std::ptrdiff_t samples = 0, positions = 0, heads = 0, pairs = 0;
    bool halves = false; ///< pair p is channels p and p + pairs of a head; else 2p and 2p + 1
    bool back = false;   ///< by the opposite angle: the gradient
};

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
