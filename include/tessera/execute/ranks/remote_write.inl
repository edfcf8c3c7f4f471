// SPDX-License-Identifier: Apache-2.0
// Bodies of remote write.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/ranks/remote_write.hpp"

namespace tessera {

TESSERA_INLINE index_t remote_write::bytes() const {
    index_t all = 0;
    for (const remote_rows& r : rows) {
        all += r.bytes * r.count;
    }
    return all;
}

TESSERA_INLINE void remote_write::add(const std::byte* base, shared_place at, index_t begin, index_t end) {
    const shared_place to{at.piece, at.offset + static_cast<std::uint64_t>(begin)};
    const index_t bytes = end - begin;
    if (!rows.empty() && rows.back().bytes == bytes && rows.back().to.piece == to.piece) {
        remote_rows& last = rows.back();
        const auto distance = static_cast<index_t>(to.offset - last.to.offset);
        if (last.count == 1 ? distance >= bytes : distance == last.count * last.stride) {
            last.stride = last.count == 1 ? distance : last.stride;
            ++last.count;
            return;
        }
    }
    rows.push_back({to, bytes, bytes, 1, base + begin});
}

} // namespace tessera

#include "tessera/base/end_header.inl"
