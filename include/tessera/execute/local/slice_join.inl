// SPDX-License-Identifier: Apache-2.0
// Bodies of slice_join.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/slice_join.hpp"

namespace tessera {

TESSERA_INLINE slice_join::slice_join(const plan& p, const task& t, const addresses& where) : to_(where[t.writes[0]]) {
    for (const int r : t.reads) {
        from_.push_back({where[r], to_size(p.tiles[to_size(r)].bytes)});
    }
}

TESSERA_INLINE void slice_join::run() const {
    std::byte* to = to_;
    for (const part& s : from_) {
        std::memcpy(to, s.data, s.bytes);
        to += s.bytes;
    }
}

TESSERA_INLINE copy_average::copy_average(const plan& p, const task& t, const addresses& where) {
    for (const int w : t.writes) {
        const interval part = slice_of(p.tiles[to_size(w)], t);
        copies_.push_back(reinterpret_cast<float*>(where[w]) + part.begin);
        elements_ = part.size();
    }
    const tile& first = p.tiles[to_size(t.reads[0])];
    brought_up_ = first.on_host ? reinterpret_cast<const float*>(where[t.reads[0]]) : nullptr;
}

TESSERA_INLINE void copy_average::run() const {
    for (float* copy : brought_up_ != nullptr ? copies_ : std::vector<float*>()) {
        std::memcpy(copy, brought_up_, to_size(elements_) * sizeof(float));
    }
    if (brought_up_ != nullptr) {
        return;
    }
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

} // namespace tessera

#include "tessera/base/end_header.inl"
