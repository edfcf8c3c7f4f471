// SPDX-License-Identifier: Apache-2.0
// Gradients that a device compresses, and the sum of those that all have sent: what runs these tasks of a plan on the processor.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/store.hpp"
#include "tessera/plan/parts.hpp"
#include "tessera/task/gradient_codes.hpp"

#include <vector>

namespace tessera {

/// What runs a compression of a plan.
class gradient_compression {
public:
    gradient_compression() = default;
    gradient_compression(const plan& p, const task& t, const addresses& where)
        : how_(p.compress), gradient_(reinterpret_cast<const float*>(where[t.reads[0]])),
          residual_(reinterpret_cast<float*>(where[t.state])), words_(where[t.writes[0]]),
          room_(t.scratch >= 0 ? where[t.scratch] : nullptr),
          elements_(p.tiles[static_cast<std::size_t>(t.state)].elements) {}

    void run() {
        codes::compress(how_, gradient_, residual_, elements_, words_, reinterpret_cast<std::int32_t*>(room_));
    }

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
    gradient_decompression(const plan& p, const task& t, const addresses& where) : how_(p.compress) {
        for_each_part(t, [&](const task& one) {
            sums_.push_back({reinterpret_cast<float*>(where[one.writes[0]]),
                             p.tiles[static_cast<std::size_t>(one.writes[0])].region.volume(),
                             {}});
            for (const int r : one.reads) {
                sums_.back().from.push_back(where[r]);
            }
        });
    }

    void run() {
        for (const sum& s : sums_) {
            std::memset(s.to, 0, static_cast<std::size_t>(s.elements) * sizeof(float));
            for (const std::byte* words : s.from) {
                codes::add_decompressed(how_, words, s.to, s.elements);
            }
        }
    }

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

#include "tessera/base/end_header.inl"
