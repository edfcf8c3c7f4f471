// SPDX-License-Identifier: Apache-2.0
// Gradients that a device compresses, and the sum of those that all have sent: what runs these tasks of a plan on the
// processor.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/store.hpp"
#include "tessera/plan/parts.hpp"
#include "tessera/task/gradient_codes.hpp"

#include <vector>

namespace tessera {

/// What runs a compression of a plan.
class gradient_compression {
public:
    gradient_compression() = default;
    gradient_compression(const plan& p, const task& t, const addresses& where);

    void run();

private:
    compression_setting how_;
    const float* gradient_ = nullptr;
    float* residual_ = nullptr;
    std::byte* words_ = nullptr;
    std::byte* room_ = nullptr;
    index_t elements_ = 0;
};

/// What runs a decompression: the sum of what all devices say, in the order in which the task lists them.
class gradient_decompression {
public:
    gradient_decompression() = default;
    gradient_decompression(const plan& p, const task& t, const addresses& where);

    void run();

private:
    struct sum {
        float* to = nullptr;
        index_t elements = 0;
        std::vector<const std::byte*> from;
    };
    compression_setting how_;
    std::vector<sum> sums_;
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/compressed_gradient.inl"
#endif

#include "tessera/base/end_header.inl"
