// SPDX-License-Identifier: Apache-2.0
// The sum of tiles of one format, element by element in the order in which they are listed.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/bfloat16.hpp"
#include "tessera/execute/local/store.hpp"

#include <vector>

namespace tessera {

/// What runs a sum task of a plan.
class tile_sum {
public:
    tile_sum() = default;
    tile_sum(const plan& p, const task& t, const addresses& where);

    void run() const;

private:
    template <class Real>
    void add() const {
        Real* const to = reinterpret_cast<Real*>(to_);
        const auto* const first = reinterpret_cast<const Real*>(from_[0]);
        if (first != to) {
            std::memcpy(to, first, to_size(elements_) * sizeof(Real));
        }
        for (std::size_t k = 1; k < from_.size(); ++k) {
            const auto* const from = reinterpret_cast<const Real*>(from_[k]);
            for (index_t i = 0; i < elements_; ++i) {
                to[i] += from[i];
            }
        }
    }

    std::byte* to_ = nullptr;
    std::vector<const std::byte*> from_;
    index_t elements_ = 0;
    element type_ = element::f32;
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/tile_sum.inl"
#endif

#include "tessera/base/end_header.inl"
