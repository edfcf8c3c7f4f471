// SPDX-License-Identifier: Apache-2.0
// Slices of a parameter joined to a whole tile.
#pragma once

#include "tessera/execute/store.hpp"

#include <vector>

namespace tessera {

/// What runs a gathering of a plan.
class slice_join {
public:
    slice_join() = default;
    template <class Plan>
    slice_join(const Plan& p, const task& t, const addresses& where) : to_(where[t.writes[0]]) {
        for (const int r : t.reads) {
            from_.push_back({where[r], static_cast<std::size_t>(p.tiles[static_cast<std::size_t>(r)].bytes)});
        }
    }

    void run() const {
        std::byte* to = to_;
        for (const slice& s : from_) {
            std::memcpy(to, s.data, s.bytes);
            to += s.bytes;
        }
    }

private:
    struct slice {
        const std::byte* data;
        std::size_t bytes;
    };
    std::byte* to_ = nullptr;
    std::vector<slice> from_;
};

} // namespace tessera
