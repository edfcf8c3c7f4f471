// SPDX-License-Identifier: Apache-2.0
// Bodies of trace.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/reports/trace.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::string trace_writer::write() {
    name_process(devices_pid, "simulated: devices");
    name_process(links_pid, "simulated: links");
    const std::vector<lane_place> lanes = lanes_of(r_.on->graph());
    std::vector<char> used(lanes.size(), 0);
    for (const simulation::busy_span& b : r_.activities.spans) {
        const bool link = b.lane >= 0 && b.lane < r_.activities.lanes;
        const task& t = r_.plan.tasks[to_size(b.task)];
        const bool beside = b.device < 0 && b.lane - r_.activities.lanes < r_.plan.devices;
        const int device = b.device >= 0 ? b.device : beside ? b.lane - r_.activities.lanes : t.device;
        if (link) {
            used[to_size(b.lane)] = 1;
        }
        span(link ? links_pid : devices_pid, link ? b.lane : 2 * device + (b.device >= 0 ? 0 : 1), t, b.count > 1,
             b.start, b.end);
    }
    name_devices(devices_pid);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        if (used[i] != 0) {
            name_thread(links_pid, static_cast<int>(i), text_of_lane(r_.on->graph(), lanes[i]));
        }
    }
    const auto memory = simulation::memory_over_time(r_.plan, r_.simulated);
    for (std::size_t d = 0; d < memory.size(); ++d) {
        for (const simulation::memory_sample& m : memory[d]) {
            add({{"ph", "C"},
                 {"pid", devices_pid},
                 {"name", "memory of device " + std::to_string(d)},
                 {"ts", microseconds(m.time)},
                 {"args", {{"bytes", m.bytes}}}});
        }
    }
    if (r_.measured) {
        name_process(measured_pid, "measured: devices");
        name_devices(measured_pid);
        for (std::size_t i = 0; i < r_.plan.tasks.size() && i < r_.measured->tasks.size(); ++i) {
            const task& t = r_.plan.tasks[i];
            const simulation::task_span& s = r_.measured->tasks[i];
            span(measured_pid, 2 * t.device + measured_row(r_, t), t, false, s.start, s.end);
        }
    }
    return "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n" + text_ + "\n]}\n";
}

TESSERA_INLINE void trace_writer::add(const json& event) {
    text_ += text_.empty() ? "" : ",\n";
    text_ += text_of_json(event);
}

TESSERA_INLINE void trace_writer::name_process(int pid, const char* name) {
    add({{"ph", "M"}, {"pid", pid}, {"name", "process_name"}, {"args", {{"name", name}}}});
    add({{"ph", "M"}, {"pid", pid}, {"name", "process_sort_index"}, {"args", {{"sort_index", pid}}}});
}

TESSERA_INLINE void trace_writer::name_thread(int pid, int row, const std::string& name) {
    const int tid = thread_of(pid, row);
    add({{"ph", "M"}, {"pid", pid}, {"tid", tid}, {"name", "thread_name"}, {"args", {{"name", name}}}});
    add({{"ph", "M"}, {"pid", pid}, {"tid", tid}, {"name", "thread_sort_index"}, {"args", {{"sort_index", row}}}});
}

TESSERA_INLINE void trace_writer::name_devices(int pid) {
    for (int d = 0; d < r_.plan.devices; ++d) {
        const std::string name = "device " + std::to_string(d);
        name_thread(pid, 2 * d, name);
        if (has_copy_row(r_, d)) {
            name_thread(pid, 2 * d + 1, name + ", copies and updates");
        }
    }
}

TESSERA_INLINE void trace_writer::span(int pid, int row, const task& t, bool in_group, index_t start, index_t end) {
    if (end <= start) {
        return; // not run
    }
    index_t bytes = 0;
    for (const int r : t.reads) {
        bytes += tessera::detail::bytes_across(r_.plan, t, r, false);
    }
    for (const int w : t.writes) {
        bytes += tessera::detail::bytes_across(r_.plan, t, w, true);
    }
    json arguments{{"shard", t.shard_number}, {"micro_batch", t.micro_batch}, {"task", &t - r_.plan.tasks.data()}};
    if (bytes > 0) {
        arguments["bytes_between_devices"] = bytes;
    }
    add({{"ph", "X"},
         {"pid", pid},
         {"tid", thread_of(pid, row)},
         {"ts", microseconds(start)},
         {"dur", microseconds(end - start)},
         {"name", text_of_task(r_, t)},
         {"cat", activity_name(kind_of(t, in_group))},
         {"args", std::move(arguments)}});
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
