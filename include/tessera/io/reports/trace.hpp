// SPDX-License-Identifier: Apache-2.0
// A run as a trace in Chrome's trace event format, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/file.hpp"
#include "tessera/io/files/json.hpp"
#include "tessera/io/reports/shown_run.hpp"

namespace tessera::io {

namespace detail {

/// Writes events one by one, so that a long trace is never in memory as values.
class trace_writer {
public:
    explicit trace_writer(const shown_run& r) : r_(r) {}

    std::string write();

private:
    static constexpr int devices_pid = 1;
    static constexpr int links_pid = 2;
    static constexpr int measured_pid = 3;

    /// No two processes have a thread of the same number, and none has 0 or a process's: Perfetto takes those for the
    /// process's own thread.
    static constexpr int thread_of(int pid, int row) { return pid * 10'000'000 + row + 1; }
    static double microseconds(index_t ns) { return static_cast<double>(ns) / 1000; }
    void add(const json& event);
    void name_process(int pid, const char* name);
    void name_thread(int pid, int row, const std::string& name);
    void name_devices(int pid);
    void span(int pid, int row, const task& t, bool in_group, index_t start, index_t end);

    const shown_run& r_;
    std::string text_;
};

} // namespace detail

/// The trace of a run: of every device its computation and, beside it, its copies and updates; of every link what it
/// carries; the memory of every device as a counter; and the same from the measured run, if there is one. Times are
/// microseconds.
inline std::string to_trace(const shown_run& r) { return detail::trace_writer(r).write(); }

inline void write_trace(const std::string& path, const shown_run& r) { write_file_atomically(path, to_trace(r)); }

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/reports/trace.inl"
#endif

#include "tessera/base/end_header.inl"
