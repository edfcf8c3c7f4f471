// SPDX-License-Identifier: Apache-2.0
// Bodies of call_times.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/measure/call_times.hpp"

namespace tessera::cuda {

TESSERA_INLINE std::string key_of(const call& c) {
    std::string text = function_of(c) + " " + std::visit(detail::size_text(), c.body);
    for (const memory_use& m : c.memory) {
        text += (m.write ? " >" : " <") + std::to_string(m.bytes);
    }
    return text;
}

TESSERA_INLINE index_t call_times::find(const std::string& key) const {
    const auto found = times_.find(key);
    return found == times_.end() ? 0 : found->second;
}

TESSERA_INLINE void call_times::read(const std::string& path, const std::string& machine) {
    add(files::read_if_there(path, detail::most_file_bytes), machine);
}

TESSERA_INLINE void call_times::write(const std::string& path, const std::string& machine) const {
    files::update(path, detail::most_file_bytes, [&](const std::string& old) {
        call_times all;
        all.add(old, machine);
        for (const auto& [key, time] : times_) {
            all.set(key, time);
        }
        std::string text = machine + "\n";
        for (const auto& [key, time] : all.times_) {
            text += std::to_string(time) + " " + key + "\n";
        }
        return text;
    });
}

TESSERA_INLINE void call_times::add(const std::string& text, const std::string& machine) {
    detail::for_each_line(text, machine, [&](std::string_view line) {
        line.remove_suffix(1); // its end
        index_t time = 0;
        const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), time);
        const auto digits = to_size(end - line.data());
        if (problem == std::errc() && time > 0 && digits + 1 < line.size() && line[digits] == ' ') {
            set(std::string(line.substr(digits + 1)), time);
        }
    });
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
