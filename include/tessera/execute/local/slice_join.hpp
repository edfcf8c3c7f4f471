// SPDX-License-Identifier: Apache-2.0
// Slices of a parameter joined to a whole tile, and the average of a slice of its copies.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/store.hpp"

#include <vector>

namespace tessera {

/// What runs a gathering of a plan.
class slice_join {
public:
    slice_join() = default;
    slice_join(const plan& p, const task& t, const addresses& where);

    void run() const;

private:
    struct part {
        const std::byte* data;
        std::size_t bytes;
    };
    std::byte* to_ = nullptr;
    std::vector<part> from_;
};

/// What runs an average of a plan: float sums in the order of the copies. What the host has stepped is copied.
class copy_average {
public:
    copy_average() = default;
    copy_average(const plan& p, const task& t, const addresses& where);

    void run() const;

private:
    std::vector<float*> copies_;
    const float* brought_up_ = nullptr; ///< the host's copy
    index_t elements_ = 0;
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/slice_join.inl"
#endif

#include "tessera/base/end_header.inl"
