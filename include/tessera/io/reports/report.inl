// SPDX-License-Identifier: Apache-2.0
// Bodies of report.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/reports/report.hpp"

namespace tessera::io::detail {

TESSERA_INLINE report_writer::report_writer(const shown_run& r, const report_options& o)
    : r_(r), options_(o), lanes_(lanes_of(r.on->graph())), bytes_(r.activities.lane_bytes(*r.on)) {
    busy_.assign(bytes_.size(), 0);
    for (const simulation::busy_span& b : r.activities.spans) {
        if (b.lane >= 0 && b.lane < r.activities.lanes) {
            busy_[to_size(b.lane)] += b.end - b.start;
        }
    }
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
        if (busy_[i] > 0) {
            used_.push_back(i);
        }
    }
    std::sort(used_.begin(), used_.end(),
              [this](std::size_t a, std::size_t b) { return bytes_[a] != bytes_[b] ? bytes_[a] > bytes_[b] : a < b; });
    shown_devices_ = std::min(r.plan.devices, o.most_devices);
    end_ = std::max<index_t>({1, r.simulated.makespan, r.measured ? r.measured->makespan : 0});
}

TESSERA_INLINE std::string report_writer::write() {
    const std::string data = "const D = " + quoted::json_in_script(text_of_json(data_of_run())) + ";";
    std::string page = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" +
                       quoted::html(options_.title) +
                       "</title>\n<meta name=\"viewport\" content=\"width=device-width\"><style>" + report_style +
                       "</style></head>\n<body>\n<h1>" + quoted::html(options_.title) + "</h1>\n<p class=\"about\">" +
                       quoted::html(options_.about) + "</p>\n";
    page += cards() + timeline() + memory() + links() + network() + strategy_table();
    if (!options_.notes.empty()) {
        page += "<h2>Notes</h2>\n<pre>" + text_of_lines(options_.notes) + "</pre>\n";
    }
    page += "<div id=\"tip\"></div>\n<script>" + data + report_script + "</script>\n</body></html>\n";
    return page;
}

TESSERA_INLINE std::string report_writer::text_of_lines(const std::string& text) {
    std::string out;
    std::size_t from = 0;
    for (std::size_t i = text.find('\n'); i != std::string::npos; from = i + 1, i = text.find('\n', from)) {
        out += quoted::html(std::string_view(text).substr(from, i - from)) + "\n";
    }
    return out + quoted::html(std::string_view(text).substr(from));
}

TESSERA_INLINE std::string report_writer::card(const std::string& value, const std::string& what) {
    return "<div class=\"card\"><b>" + value + "</b><span>" + what + "</span></div>\n";
}

TESSERA_INLINE std::string report_writer::cards() const {
    std::string out = "<div class=\"cards\">\n" + card(ms(r_.simulated.makespan), "a step, simulated");
    if (r_.measured) {
        out += card(ms(r_.measured->makespan), "a step, measured");
        out += card(plot_number(static_cast<double>(r_.simulated.makespan) /
                                    static_cast<double>(std::max<index_t>(1, r_.measured->makespan)),
                                3),
                    "simulated over measured");
    }
    index_t peak = 0;
    index_t busy = 0;
    for (std::size_t d = 0; d < r_.plan.arena_bytes.size(); ++d) {
        peak = std::max(peak, r_.plan.arena_bytes[d] + r_.plan.persistent_bytes[d]);
        busy += r_.simulated.device_busy[d];
    }
    out += card(bytes_text(static_cast<double>(r_.plan.moved_bytes)), "move between devices in a step");
    out += card(bytes_text(static_cast<double>(peak)), "memory of the fullest device");
    out +=
        card(plot_number(
                 100.0 * static_cast<double>(busy) / static_cast<double>(r_.simulated.makespan) / r_.plan.devices, 3) +
                 " %",
             "of the devices' time computes");
    out += card(std::to_string(r_.plan.devices), "devices") + card(std::to_string(r_.network.op_count), "operators");
    return out + card(std::to_string(r_.plan.tasks.size()), "tasks") + "</div>\n";
}

TESSERA_INLINE const char* report_writer::colour_of(activity_kind k) {
    constexpr const char* colours[] = {"#3f76b0", "#ef8a2c", "#a66fa0", "#4c9f50", "#8f949b", "#d8504d", "#3a9e97"};
    return colours[static_cast<int>(k)];
}

TESSERA_INLINE std::string report_writer::timeline() const {
    std::string out = "<h2>Timeline</h2>\n<div class=\"legend\">";
    for (const activity_kind k : all_kinds) {
        out += "<span><i style=\"background:" + std::string(colour_of(k)) + "\"></i>" + activity_name(k) + "</span>";
    }
    out += "<span><button id=\"closer\">+</button> <button id=\"farther\">&minus;</button> <button "
           "id=\"whole\">whole step</button></span></div>\n"
           "<p class=\"about\">Shift or Ctrl and the wheel zoom, dragging moves, hovering tells what it is.";
    if (shown_devices_ < r_.plan.devices) {
        out += " The first " + std::to_string(shown_devices_) + " of " + std::to_string(r_.plan.devices) +
               " devices are shown.";
    }
    if (used_.size() > options_.most_links) {
        out += " The busiest " + std::to_string(options_.most_links) + " of " + std::to_string(used_.size()) +
               " links in use are shown.";
    }
    return out + "</p>\n<canvas id=\"timeline\"></canvas>\n";
}

TESSERA_INLINE std::string report_writer::memory() {
    return "<h2>Memory over time</h2>\n<p class=\"about\">Bytes of every device that hold something: parameters "
           "and optimizer state all the time, "
           "everything else from the first task that touches it to the last. All on one scale. Where copies run "
           "beside the computation they are simulated as early as their "
           "data allow, so that a peak may differ a little from the plan's, which orders them by its memory "
           "too.</p>\n<canvas "
           "id=\"memory\"></canvas>\n";
}

TESSERA_INLINE std::string report_writer::links() const {
    std::string out = "<h2>Bytes per link</h2>\n";
    if (used_.empty()) {
        return out + "<p class=\"about\">Nothing moves.</p>\n";
    }
    out += "<p class=\"about\">One direction of one cable in each line. Updates of parameters count as the "
           "collectives that carry them, so that the "
           "sum may be less than what the plan's tasks read and write across devices.</p>\n<div class=\"scroll\" "
           "style=\"max-height:420px\"><table>"
           "<tr><th>link</th><th>bytes</th><th>in use</th><th></th></tr>\n";
    for (const std::size_t i : used_) {
        const double share = static_cast<double>(busy_[i]) / static_cast<double>(r_.simulated.makespan);
        const double width =
            100 * static_cast<double>(bytes_[i]) / static_cast<double>(std::max<index_t>(1, bytes_[used_[0]]));
        out += "<tr><td>" + quoted::html(text_of_lane(r_.on->graph(), lanes_[i])) + "</td><td class=\"n\">" +
               bytes_text(static_cast<double>(bytes_[i])) + "</td><td class=\"n\">" + plot_number(100 * share, 3) +
               " %</td><td><div class=\"bar\" style=\"width:" + pixels(width) + "%\"></div></td></tr>\n";
    }
    return out + "</table></div>\n";
}

TESSERA_INLINE std::string report_writer::network() const {
    std::string out = "<h2>The network and its splits</h2>\n<div class=\"legend\">";
    for (int d = 0; d < std::min(r_.plan.devices, 32); ++d) {
        out += "<span><i style=\"background:" + device_colour(d, r_.plan.devices) + "\"></i>" + std::to_string(d) +
               "</span>";
    }
    out += r_.plan.devices > 32 ? "<span>and so on</span>" : "";
    return out +
           "</div>\n<p class=\"about\">The strip of every operator has its shards in the colours of their devices. "
           "Red arrows move bytes between "
           "devices, forward and backward together.</p>\n<div class=\"scroll\">" +
           network_drawing(r_).svg() + "</div>\n";
}

TESSERA_INLINE std::string report_writer::strategy_table() const {
    return "<h2>The strategy</h2>\n<details><summary>as a table</summary><pre>" +
           text_of_lines(tessera::to_text(r_.network, r_.how.view())) + "</pre></details>\n";
}

TESSERA_INLINE int report_writer::label(const task& t, int count) {
    std::string text = text_of_task(r_, t);
    if (count > 1) {
        text += ", " + std::to_string(count) + " slices together";
    } else if (t.params().slices > 1) {
        text += ", slice " + std::to_string(t.params().slice);
    } else {
        text += ", shard " + std::to_string(t.shard_number);
    }
    text += r_.plan.micro_batches > 1 ? ", micro-batch " + std::to_string(t.micro_batch) : "";
    const auto [place, fresh] = numbers_.emplace(text, static_cast<int>(labels_.size()));
    if (fresh) {
        labels_.push_back(text);
    }
    return place->second;
}

TESSERA_INLINE json report_writer::data_of_run() {
    // Rows: of every device its computation, the measured one below, and its copies; then the links.
    std::vector<row> rows;
    std::vector<int> compute(to_size(r_.plan.devices), -1);
    std::vector<int> measured = compute;
    std::vector<int> copies = compute;
    std::vector<int> measured_copies = compute;
    const auto add = [&rows](std::string name, const char* kind, int height, int gap) {
        rows.push_back({std::move(name), kind, height, gap});
        return static_cast<int>(rows.size()) - 1;
    };
    for (int d = 0; d < shown_devices_; ++d) {
        const auto at = to_size(d);
        const bool serial = !has_copy_row(r_, d);
        compute[at] = add("device " + std::to_string(d), "device", 15, d == 0 ? 2 : 5);
        measured[at] = r_.measured ? add("measured", "measured", 15, 0) : -1;
        copies[at] = serial ? compute[at] : add("copies", "device", 12, 0);
        measured_copies[at] = !r_.measured ? -1 : serial ? measured[at] : add("copies, measured", "measured", 12, 0);
    }
    std::vector<int> link(bytes_.size(), -1);
    for (std::size_t k = 0; k < used_.size() && k < options_.most_links; ++k) {
        link[used_[k]] = add(text_of_lane(r_.on->graph(), lanes_[used_[k]]), "link", 13, k == 0 ? 12 : 0);
    }
    const auto put = [&](int where, const task& t, int count, index_t start, index_t end) {
        if (where >= 0 && end > start) {
            rows[to_size(where)].spans.push_back(
                {start, end, static_cast<int>(kind_of(t, count > 1)), label(t, count)});
        }
    };
    for (const simulation::busy_span& b : r_.activities.spans) {
        const int where = b.device >= 0                  ? compute[to_size(b.device)]
                          : b.lane < r_.activities.lanes ? link[to_size(b.lane)]
                          : b.lane - r_.activities.lanes < r_.plan.devices
                              ? copies[to_size(b.lane - r_.activities.lanes)]
                          : r_.plan.tasks[to_size(b.task)].kind() == task_kind::copy
                              ? copies[to_size(r_.plan.tasks[to_size(b.task)].device)] // over the link to its host
                              : -1;
        put(where, r_.plan.tasks[to_size(b.task)], b.count, b.start, b.end);
    }
    for (std::size_t i = 0; r_.measured && i < r_.plan.tasks.size() && i < r_.measured->tasks.size(); ++i) {
        const task& t = r_.plan.tasks[i];
        const simulation::task_span& s = r_.measured->tasks[i];
        const auto at = to_size(t.device);
        put(measured_row(r_, t) == 0 ? measured[at] : measured_copies[at], t, 1, s.start, s.end);
    }
    json data{{"end", end_}};
    json& shown = data["rows"] = json::array();
    for (row& x : rows) {
        std::sort(x.spans.begin(), x.spans.end(),
                  [](const row::span& a, const row::span& b) { return a.start < b.start; });
        json numbers = json::array();
        for (const row::span& s : x.spans) {
            for (const index_t n : {s.start, s.end, index_t{s.kind}, index_t{s.label}}) {
                numbers.push_back(n);
            }
        }
        shown.push_back(
            {{"name", x.name}, {"kind", x.kind}, {"height", x.height}, {"gap", x.gap}, {"spans", std::move(numbers)}});
    }
    for (const activity_kind k : all_kinds) {
        data["kinds"].push_back({activity_name(k), colour_of(k)});
    }
    data["labels"] = labels_;
    json& memory = data["memory"] = json::array();
    const auto samples = simulation::memory_over_time(r_.plan, r_.simulated);
    for (int d = 0; d < shown_devices_; ++d) {
        json numbers = json::array();
        for (const simulation::memory_sample& m : samples[to_size(d)]) {
            numbers.push_back(m.time);
            numbers.push_back(m.bytes);
        }
        memory.push_back({{"name", "device " + std::to_string(d)},
                          {"capacity", r_.on->class_of(d).memory_bytes},
                          {"samples", std::move(numbers)}});
    }
    return data;
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE std::string to_html(const shown_run& r, const report_options& o) {
    return detail::report_writer(r, o).write();
}

TESSERA_INLINE void write_report(const std::string& path, const shown_run& r, const report_options& o) {
    write_file_atomically(path, to_html(r, o));
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
