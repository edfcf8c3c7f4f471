// SPDX-License-Identifier: Apache-2.0
// Bodies of profile.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/measure/profile.hpp"

#include "tessera/base/stable_sort.hpp"

#include <utility>

namespace tessera::host {

TESSERA_INLINE profile::profile(std::string path) {
    if (!path.empty()) {
        times_ = entries_of(files::read_if_there(path, most_profile_bytes), path);
        path_ = std::move(path);
    }
}

TESSERA_INLINE const double* profile::find(const std::string& name) const {
    const auto it = place(name);
    return it == times_.end() || it->name != name ? nullptr : &it->seconds;
}

TESSERA_INLINE void profile::add(const std::string& name, double seconds) {
    if (group_ != nullptr) {
        group_->agree_on_most({&seconds, 1});
    }
    times_.insert(place(name), {name, seconds});
    changed_ = true;
}

TESSERA_INLINE void profile::agree_over(process_group* group) {
    group_ = group;
    if (group == nullptr) {
        return;
    }
    saves_ = group->rank() == 0;
    std::string all;
    for (const entry& e : times_) {
        char seconds[40];
        print_to(seconds, sizeof seconds, "%a ", e.seconds); // every bit
        all += seconds + e.name + "\n";
    }
    group->take_from_first(all);
    times_.clear();
    for (const std::string& line : lines_of(all)) {
        double seconds = 0;
        const std::size_t end = read_number(line, seconds);
        times_.push_back({line.substr(end + 1), seconds});
    }
}

TESSERA_INLINE void profile::save() noexcept {
    if (path_.empty() || !changed_ || !saves_) {
        return;
    }
    try {
        files::update(path_, most_profile_bytes, [&](const std::string& old) {
            std::vector<entry> all = entries_of(old, path_);
            all.insert(all.begin(), times_.begin(), times_.end()); // ours first: they are the ones that stay
            tessera::detail::stable_sort(all, [](const entry& a, const entry& b) { return a.name < b.name; });
            std::string text = header() + "\n";
            for (std::size_t i = 0; i < all.size(); ++i) {
                if (i == 0 || all[i].name != all[i - 1].name) {
                    char seconds[32];
                    print_to(seconds, sizeof seconds, "%.9g ", all[i].seconds);
                    text += seconds + all[i].name + "\n";
                }
            }
            return text;
        });
        changed_ = false;
    } catch (...) { // a profile that cannot be written costs time, nothing else
    }
}

TESSERA_INLINE std::string profile::header() {
    const dnnl_version_t* v = dnnl_version();
    std::string text = "tessera-profile 2 onednn " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
                       std::to_string(v->patch) + " isa " +
                       std::to_string(static_cast<int>(dnnl_get_effective_cpu_isa())) + " threads 1 cpu ";
    for (const std::string& line : lines_of(files::read_if_there("/proc/cpuinfo"))) {
        if (line.rfind("model name", 0) == 0) {
            return text + line.substr(line.find(':') + 2);
        }
    }
    return text + "unknown";
}

TESSERA_INLINE typename std::vector<profile::entry>::const_iterator profile::place(const std::string& name) const {
    return std::lower_bound(times_.begin(), times_.end(), name,
                            [](const entry& e, const std::string& n) { return e.name < n; });
}

TESSERA_INLINE std::vector<std::string> profile::lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t end = text.find('\n', begin);
        end = end == std::string::npos ? text.size() : end;
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return lines;
}

TESSERA_INLINE std::vector<profile::entry> profile::entries_of(const std::string& text, const std::string& path) {
    std::vector<entry> all;
    const std::vector<std::string> lines = lines_of(text);
    if (lines.empty()) {
        return all;
    }
    if (lines[0].rfind("tessera-profile ", 0) != 0) {
        throw error("tessera: " + path + " is not a profile; name another file or remove it");
    }
    const bool current = lines[0] == header();
    for (std::size_t i = 1; i < lines.size() && current; ++i) {
        double seconds = 0;
        const std::size_t end = read_number(lines[i], seconds);
        if (!(seconds > 0 && seconds < 1e9) || end == lines[i].size() || lines[i][end] != ' ') {
            return {};
        }
        all.push_back({lines[i].substr(end + 1), seconds});
    }
    const auto before = [](const entry& a, const entry& b) { return a.name < b.name; };
    std::sort(all.begin(), all.end(), before);
    return all;
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
