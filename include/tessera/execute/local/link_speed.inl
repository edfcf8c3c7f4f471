// SPDX-License-Identifier: Apache-2.0
// Bodies of link_speed.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/link_speed.hpp"

namespace tessera {

TESSERA_INLINE index_t link_speed::time_of(const plan& p, const task& t) const {
    index_t bytes = 0;
    index_t ways = 0;
    for (const bool write : {false, true}) {
        index_t now = 0;
        for (const int x : write ? t.writes : t.reads) {
            now += detail::bytes_across(p, t, x, write);
        }
        bytes += now;
        ways += now > 0 ? 1 : 0;
    }
    const double wire = bytes_per_second > 0 ? static_cast<double>(bytes) / bytes_per_second * 1e9 : 0;
    return ways * latency + static_cast<index_t>(wire);
}

} // namespace tessera

namespace tessera::detail {

TESSERA_INLINE runnable slowed_tasks::after(index_t delay, runnable what) {
    const locked lock(mutex_);
    all_.push_back(owned<slowed>(new slowed{what, delay}));
    return {[](void* context, const run_state& run) {
                const auto& mine = *static_cast<const slowed*>(context);
                pass_time(mine.delay);
                mine.what.call(mine.what.context, run);
            },
            all_.back().get()};
}

TESSERA_INLINE void slowed_tasks::pass_time(index_t ns) {
    timespec left{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
