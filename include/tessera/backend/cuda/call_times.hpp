// SPDX-License-Identifier: Apache-2.0
// What calls take on a GPU, by what they do; and from that what tasks take, for the simulator. In a file, so that a machine is measured once.
#pragma once

#include "tessera/backend/cuda/algorithm_file.hpp"
#include "tessera/backend/cuda/print.hpp"
#include "tessera/simulate/task_time.hpp"

#include <map>

namespace tessera::cuda {

/// All that a call's time depends on besides the machine: function, sizes, formats and algorithm, and the bytes that it reads (<) and
/// writes (>). Where its memory lies is no part of it.
inline std::string key_of(const call& c) {
    std::string text = function_of(c) + " " + std::visit(detail::size_text(), c.body);
    for (const memory_use& m : c.memory) {
        text += (m.write ? " >" : " <") + std::to_string(m.bytes);
    }
    return text;
}

/// Measured times of calls, in nanoseconds.
class call_times {
public:
    /// 0 where the call has not been measured.
    index_t find(const std::string& key) const {
        const auto found = times_.find(key);
        return found == times_.end() ? 0 : found->second;
    }
    void set(const std::string& key, index_t nanoseconds) { times_[key] = nanoseconds; }
    std::size_t size() const { return times_.size(); }

    /// Adds what a file knows. Its first line must be `machine` (GPU and library versions): what another machine measured is left alone,
    /// and so are lines that are damaged. A file that is not there knows nothing.
    void read(const std::string& path, const std::string& machine) {
        const detail::file f(std::fopen(path.c_str(), "r"));
        std::string line;
        if (f == nullptr || !next_line(f.get(), line) || line != machine) {
            return;
        }
        while (next_line(f.get(), line)) {
            index_t time = 0;
            const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), time);
            const auto digits = static_cast<std::size_t>(end - line.data());
            if (problem == std::errc() && time > 0 && digits + 1 < line.size() && line[digits] == ' ') {
                set(line.substr(digits + 1), time);
            }
        }
    }

    /// Replaces a file by what is known. Throws tessera::error where it cannot be written.
    void write(const std::string& path, const std::string& machine) const {
        const std::string fresh = path + ".new"; // whoever reads meanwhile finds the old file whole
        bool good = false;
        {
            const detail::file f(std::fopen(fresh.c_str(), "w"));
            good = f != nullptr && std::fprintf(f.get(), "%s\n", machine.c_str()) > 0;
            for (const auto& [key, time] : times_) {
                good = good && std::fprintf(f.get(), "%lld %s\n", static_cast<long long>(time), key.c_str()) > 0;
            }
            good = good && std::fflush(f.get()) == 0;
        }
        if (!good || std::rename(fresh.c_str(), path.c_str()) != 0) {
            throw error("tessera: the measured times cannot be written to " + path +
                        "; look at the folder and at the space on its disk");
        }
    }

private:
    /// Without its end; false at the end of the file, also where the last line has none.
    static bool next_line(std::FILE* f, std::string& line) {
        line.clear();
        for (int c = std::fgetc(f); c != EOF; c = std::fgetc(f)) {
            if (c == '\n') {
                return true;
            }
            line += static_cast<char>(c);
        }
        return false;
    }

    std::map<std::string, index_t> times_;
};

/// True of calls that belong to their task: exchanges between GPUs and uploads are transfers, which the simulator prices by the machine's
/// links.
inline bool counts_as_work(const call& c) { return c.group < 0 && !std::holds_alternative<upload>(c.body); }

/// Adds the times of a plan's tasks, each the sum of its calls', to a profile. `time(call number)` says what a call takes, in nanoseconds.
/// Copies are left out: the simulator prices them by the machine's memory and links.
template <class Time>
void add_task_times(cost::profile& to, const plan& p, const graph_view& g, const call_list& l, Time&& time) {
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        const task& t = p.tasks[i];
        if (t.kind == task_kind::copy || t.kind == task_kind::reorder) {
            continue;
        }
        const cost::task_signature what = simulation::signature_of(g, p.tiles, t);
        if (to.find(what) > 0) {
            continue;
        }
        index_t total = 0;
        for (int c = l.first[i]; c < l.first[i + 1]; ++c) {
            total += counts_as_work(l.calls[static_cast<std::size_t>(c)]) ? time(c) : 0;
        }
        if (total > 0) {
            to.set(what, total);
        }
    }
}

} // namespace tessera::cuda
