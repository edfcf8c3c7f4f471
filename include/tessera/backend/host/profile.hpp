// SPDX-License-Identifier: Apache-2.0
// Measured times of tasks, by name, kept in memory and, if asked, in a text file: one "seconds name" a line.
#pragma once

#include "tessera/base/error.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <oneapi/dnnl/dnnl.h>

namespace tessera::host {

// A template only so that what it uses is compiled where a plan is made.
template <class Seconds>
class basic_profile {
public:
    basic_profile() = default;
    /// Reads the file if there is one. A file from another library version or machine is left alone and measured anew; a file that is
    /// not a profile is an error, so that it is not overwritten.
    explicit basic_profile(std::string path) : path_(static_cast<std::string&&>(path)) { load(); }
    ~basic_profile() { save(); }
    basic_profile(const basic_profile&) = delete;
    basic_profile& operator=(const basic_profile&) = delete;

    const Seconds* find(const std::string& name) const {
        const auto it = place(name);
        return it == times_.end() || it->name != name ? nullptr : &it->seconds;
    }
    void add(const std::string& name, Seconds seconds) {
        times_.insert(place(name), {name, seconds});
        changed_ = true;
    }
    std::size_t size() const { return times_.size(); }

    /// Writes the file, whole or not at all.
    void save() noexcept {
        if (path_.empty() || !changed_) {
            return;
        }
        const std::string temporary = path_ + ".new";
        std::FILE* out = std::fopen(temporary.c_str(), "w");
        if (out == nullptr) {
            return; // a profile that cannot be written costs time, nothing else
        }
        std::fprintf(out, "%s\n", header().c_str());
        for (const entry& e : times_) {
            std::fprintf(out, "%.9g %s\n", e.seconds, e.name.c_str());
        }
        const bool whole = std::ferror(out) == 0;
        if (std::fclose(out) == 0 && whole && std::rename(temporary.c_str(), path_.c_str()) == 0) {
            changed_ = false;
        }
    }

private:
    static std::string header() {
        const dnnl_version_t* v = dnnl_version();
        std::string text = "tessera-profile 2 onednn " + std::to_string(v->major) + "." + std::to_string(v->minor) +
                           "." + std::to_string(v->patch) + " isa " +
                           std::to_string(static_cast<int>(dnnl_get_effective_cpu_isa())) + " threads 1 cpu ";
        for (const std::string& line : lines_of("/proc/cpuinfo")) {
            if (line.rfind("model name", 0) == 0) {
                return text + line.substr(line.find(':') + 2);
            }
        }
        return text + "unknown";
    }

    struct entry {
        std::string name;
        Seconds seconds = 0;
    };

    typename std::vector<entry>::const_iterator place(const std::string& name) const {
        return std::lower_bound(times_.begin(), times_.end(), name,
                                [](const entry& e, const std::string& n) { return e.name < n; });
    }

    static std::vector<std::string> lines_of(const std::string& path) {
        std::vector<std::string> lines;
        std::FILE* in = std::fopen(path.c_str(), "r");
        if (in == nullptr) {
            return lines;
        }
        std::string line;
        for (int c = std::fgetc(in); c != EOF; c = std::fgetc(in)) {
            if (c == '\n') {
                lines.push_back(line);
                line.clear();
            } else {
                line += static_cast<char>(c);
            }
        }
        if (!line.empty()) {
            lines.push_back(line);
        }
        std::fclose(in);
        return lines;
    }

    void load() {
        const std::vector<std::string> lines = path_.empty() ? std::vector<std::string>() : lines_of(path_);
        if (lines.empty()) {
            return;
        }
        if (lines[0].rfind("tessera-profile ", 0) != 0) {
            const std::string path = static_cast<std::string&&>(path_);
            path_.clear();
            throw error("tessera: " + path + " is not a profile; name another file or remove it");
        }
        const bool current = lines[0] == header();
        for (std::size_t i = 1; i < lines.size() && current; ++i) {
            char* end = nullptr;
            const double seconds = std::strtod(lines[i].c_str(), &end);
            if (!(seconds > 0) || *end != ' ') {
                times_.clear();
                return; // a damaged file is measured anew
            }
            const std::string name(end + 1);
            times_.insert(place(name), {name, seconds});
        }
    }

    std::string path_;
    std::vector<entry> times_; ///< by name
    bool changed_ = false;
};

using profile = basic_profile<double>;

} // namespace tessera::host
