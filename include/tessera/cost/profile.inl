// SPDX-License-Identifier: Apache-2.0
// Bodies of profile.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/profile.hpp"

namespace tessera::cost {

TESSERA_INLINE void profile::set(const task_signature& what, index_t nanoseconds) {
    if (nanoseconds < 1) {
        throw error("tessera: a profile's time is " + std::to_string(nanoseconds) + " ns; give at least 1");
    }
    std::vector<entry>& list = buckets_[bucket(what)];
    for (entry& e : list) {
        if (e.what == what) {
            e.time = nanoseconds;
            return;
        }
    }
    list.push_back({what, nanoseconds});
    ++size_;
}

TESSERA_INLINE index_t profile::find(const task_signature& what) const {
    for (const entry& e : buckets_[bucket(what)]) {
        if (e.what == what) {
            return e.time;
        }
    }
    return 0;
}

TESSERA_INLINE std::size_t profile::bucket(const task_signature& s) {
    auto h = static_cast<std::uint64_t>(s.what);
    for (const char* c = to_text(s.attributes.kind); *c != 0; ++c) { // its name: no address enters a hash
        h = h * 31 + static_cast<unsigned char>(*c);
    }
    for (index_t e : s.extent) {
        h = (h ^ static_cast<std::uint64_t>(e)) * 0x100000001b3ULL;
    }
    return to_size((h >> 7U) % 1021);
}

} // namespace tessera::cost

#include "tessera/base/end_header.inl"
