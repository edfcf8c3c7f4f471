// SPDX-License-Identifier: Apache-2.0
// Slices of a parameter joined to a whole tile, and the average of a slice of its copies.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/store.hpp"

#include <vector>

namespace tessera {

/// What runs a gathering of a plan.
class slice_join {
public:
    slice_join() = default;
    slice_join(const plan& p, const task& t, const addresses& where) : to_(where[t.writes[0]]) {
        for (const int r : t.reads) {
            from_.push_back({where[r], static_cast<std::size_t>(p.tiles[static_cast<std::size_t>(r)].bytes)});
        }
    }

    void run() const {
        std::byte* to = to_;
        for (const part& s : from_) {
            std::memcpy(to, s.data, s.bytes);
            to += s.bytes;
        }
    }

private:
    struct part {
        const std::byte* data;
        std::size_t bytes;
    };
    std::byte* to_ = nullptr;
    std::vector<part> from_;
};

/// What runs an average of a plan: float sums in the order of the copies.
class copy_average {
public:
    copy_average() = default;
    copy_average(const plan& p, const task& t, const addresses& where) {
        for (const int w : t.writes) {
            const interval part = slice_of(p.tiles[static_cast<std::size_t>(w)], t);
            copies_.push_back(reinterpret_cast<float*>(where[w]) + part.begin);
            elements_ = part.size();
        }
    }

    void run() const {
        const auto count = static_cast<float>(copies_.size());
        for (index_t i = 0; i < elements_; ++i) {
            float total = copies_[0][i];
            for (std::size_t k = 1; k < copies_.size(); ++k) {
                total += copies_[k][i];
            }
            for (float* copy : copies_) {
                copy[i] = total / count;
            }
        }
    }

private:
    std::vector<float*> copies_;
    index_t elements_ = 0;
};

} // namespace tessera

#include "tessera/base/end_header.inl"
