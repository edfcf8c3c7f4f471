// SPDX-License-Identifier: Apache-2.0
// A small network of what flags of a user's can break: exponentials, maxima that keep NaN, statistics, sums in an
// order.
#pragma once

#include <tessera/host.hpp>

#include <cstdint>
#include <vector>

namespace user {

namespace ts = tessera;

struct conv : ts::conv2d<16, ts::window<3>> {};
struct fc1 : ts::linear<32> {};
struct fc2 : ts::linear<4> {};
struct network : ts::sequential<ts::image<1, 8, 8>, conv, ts::relu, ts::max_pool<2>, ts::flatten, fc1, ts::tanh,
                                ts::layer_norm<>, fc2, ts::cross_entropy> {};

inline constexpr int samples = 32;
using halves = ts::strategy_of<network, 2, samples, ts::others<ts::split<ts::sample, 2>>>;

struct batch {
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    ts::index_t size = samples;
};

/// Samples of four classes: each has one bright quarter.
inline batch made_batch(unsigned seed) {
    batch b;
    for (int s = 0; s < samples; ++s) {
        const int label = static_cast<int>(seed >> 8U & 3U);
        b.labels.push_back(label);
        for (int at = 0; at < 64; ++at) {
            seed = seed * 1664525U + 1013904223U;
            const int quarter = at / 32 * 2 + at % 8 / 4;
            b.inputs.push_back(static_cast<float>(seed >> 20U) / 8192.0F - 0.25F + (quarter == label ? 0.5F : 0.0F));
        }
    }
    return b;
}

/// Losses of 20 steps; from train.cpp.
std::vector<double> train();

/// What a step with a pixel that is not a number says; empty: nothing. From refuse.cpp.
const char* refuse();

} // namespace user
