// SPDX-License-Identifier: Apache-2.0
// Slow links between the devices of a process, for those who want to see on one machine what a strategy gains over a
// network.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/mutex.hpp"
#include "tessera/base/owned.hpp"
#include "tessera/plan/print.hpp"
#include "tessera/task/compute.hpp"

#include <cerrno>
#include <ctime>
#include <vector>

namespace tessera {

/// How long what crosses between devices of one process is kept on its way, beside the time that moving it takes there.
struct link_speed {
    double bytes_per_second =
        0;               ///< of every list of tasks (a device's own, its communication's, its queue's); 0: no limit
    index_t latency = 0; ///< ns, of what a task takes from other devices, and of what it sends to them

    bool is_slow() const { return bytes_per_second > 0 || latency > 0; }

    /// Nanoseconds that a task's transfers are on their way.
    index_t time_of(const plan& p, const task& t) const;
};

namespace detail {

/// Tasks that wait for their transfers before they are run.
class slowed_tasks {
public:
    /// The task after a delay; may be called by several threads at a time. What is returned is good as long as this
    /// object.
    runnable after(index_t delay, runnable what);

private:
    struct slowed {
        runnable what;
        index_t delay = 0;
    };

    static void pass_time(index_t ns);

    mutex mutex_;
    std::vector<owned<slowed>> all_;
};

} // namespace detail

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/link_speed.inl"
#endif

#include "tessera/base/end_header.inl"
