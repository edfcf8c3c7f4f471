// SPDX-License-Identifier: Apache-2.0
// What calls take on a GPU, by what they do; and from that what tasks take, for the simulator. In a file, so that a
// machine is measured once.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/print.hpp"
#include "tessera/backend/cuda/measure/algorithm_file.hpp"
#include "tessera/simulate/task_time.hpp"

#include <map>

namespace tessera::cuda {

/// All that a call's time depends on besides the machine: function, sizes, formats and algorithm, and the bytes that it
/// reads (<) and writes (>). Where its memory lies is no part of it.
std::string key_of(const call& c);

/// Measured times of calls, in nanoseconds.
class call_times {
public:
    /// 0 where the call has not been measured.
    index_t find(const std::string& key) const;
    void set(const std::string& key, index_t nanoseconds) { times_[key] = nanoseconds; }
    std::size_t size() const { return times_.size(); }

    /// Adds what a file knows. Its first line must be `machine` (GPU and library versions): what another machine
    /// measured is left alone, and so are lines that are damaged. A file that is not there knows nothing. Throws
    /// tessera::error where it cannot be read.
    void read(const std::string& path, const std::string& machine);

    /// Adds what is known to a file, which keeps what other processes have added meanwhile; of another machine's it
    /// takes the place. Throws tessera::error where it cannot be written.
    void write(const std::string& path, const std::string& machine) const;

private:
    void add(const std::string& text, const std::string& machine);

    std::map<std::string, index_t> times_;
};

/// True of calls that belong to their task: NCCL calls and uploads are transfers, which the simulator prices by the
/// machine's links.
inline bool counts_as_work(const call& c) { return c.group < 0 && !std::holds_alternative<upload>(c.body); }

/// Adds the times of a plan's tasks, each the sum of its calls', to a profile. `time(call number)` says what a call
/// takes, in nanoseconds. Copies are left out: the simulator prices them by the machine's memory and links.
template <class Time>
void add_task_times(cost::profile& to, const plan& p, const graph_view& g, const call_list& l, Time&& time) {
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        const task& t = p.tasks[i];
        if (t.kind() == task_kind::copy || t.kind() == task_kind::reorder) {
            continue;
        }
        const cost::task_signature what = simulation::signature_of(g, p.tiles, t);
        if (to.find(what) > 0) {
            continue;
        }
        index_t total = 0;
        for (int c = l.first[i]; c < l.first[i + 1]; ++c) {
            total += counts_as_work(l.calls[to_size(c)]) ? time(c) : 0;
        }
        if (total > 0) {
            to.set(what, total);
        }
    }
}

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/measure/call_times.inl"
#endif

#include "tessera/base/end_header.inl"
