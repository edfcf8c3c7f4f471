// SPDX-License-Identifier: Apache-2.0
// Measured algorithms in a file, so that a network is measured once on a machine.
#pragma once

#include "tessera/backend/cuda/algorithms.hpp"
#include "tessera/base/error.hpp"

#include <charconv>
#include <cstdio>
#include <memory>
#include <string_view>

namespace tessera::cuda {

namespace detail {

struct close_file {
    void operator()(std::FILE* f) const { (void)std::fclose(f); }
};
using file = std::unique_ptr<std::FILE, close_file>;

/// The numbers of a line: what is computed (21), then algorithm, workspace, microseconds.
inline constexpr int line_numbers = 24;

inline void to_numbers(const convolution& c, const algorithm_choice& choice, index_t (&n)[line_numbers]) {
    int k = 0;
    n[k++] = static_cast<index_t>(c.way);
    for (int i = 0; i < 4; ++i) {
        n[k++] = c.x[i];
        n[k++] = c.w[i];
        n[k++] = c.y[i];
    }
    for (int i = 0; i < 2; ++i) {
        n[k++] = c.padding[i];
        n[k++] = c.stride[i];
        n[k++] = c.dilation[i];
    }
    n[k++] = c.groups;
    n[k++] = static_cast<index_t>(c.math);
    n[k++] = choice.algorithm;
    n[k++] = choice.workspace;
    n[k++] = static_cast<index_t>(choice.milliseconds * 1000);
}

inline std::pair<convolution, algorithm_choice> from_numbers(const index_t (&n)[line_numbers]) {
    convolution c;
    int k = 0;
    c.way = static_cast<convolution::direction>(n[k++]);
    for (int i = 0; i < 4; ++i) {
        c.x[i] = static_cast<int>(n[k++]);
        c.w[i] = static_cast<int>(n[k++]);
        c.y[i] = static_cast<int>(n[k++]);
    }
    for (int i = 0; i < 2; ++i) {
        c.padding[i] = static_cast<int>(n[k++]);
        c.stride[i] = static_cast<int>(n[k++]);
        c.dilation[i] = static_cast<int>(n[k++]);
    }
    c.groups = static_cast<int>(n[k++]);
    c.math = static_cast<precision>(n[k++]);
    algorithm_choice choice;
    choice.algorithm = static_cast<int>(n[k++]);
    choice.workspace = n[k++];
    choice.milliseconds = static_cast<double>(n[k++]) / 1000;
    return {c, choice};
}

} // namespace detail

/// Adds what a file knows. Its first line must be `machine` (GPU and library versions): what another machine measured is left alone, and so
/// are lines that are damaged. A file that is not there knows nothing.
inline void read_algorithms(algorithm_table& table, const std::string& path, const std::string& machine) {
    const detail::file f(std::fopen(path.c_str(), "r"));
    char line[1024];
    if (f == nullptr || std::fgets(line, sizeof line, f.get()) == nullptr || machine + "\n" != line) {
        return;
    }
    while (std::fgets(line, sizeof line, f.get()) != nullptr) {
        index_t n[detail::line_numbers];
        std::string_view rest = line;
        int count = 0;
        while (count < detail::line_numbers) {
            const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), n[count]);
            if (problem != std::errc() || end == rest.data() + rest.size()) {
                break;
            }
            rest.remove_prefix(static_cast<std::size_t>(end - rest.data()) + 1);
            ++count;
        }
        if (count == detail::line_numbers && rest.empty() && n[0] >= 0 && n[0] <= 2 && n[20] >= 0 && n[20] <= 2) {
            const auto [c, choice] = detail::from_numbers(n);
            table.add(c, choice);
        }
    }
}

/// Replaces a file by what a table knows. Throws tessera::error where it cannot be written.
inline void write_algorithms(const algorithm_table& table, const std::string& path, const std::string& machine) {
    const std::string fresh = path + ".new"; // whoever reads meanwhile finds the old file whole
    {
        const detail::file f(std::fopen(fresh.c_str(), "w"));
        bool good = f != nullptr && std::fprintf(f.get(), "%s\n", machine.c_str()) > 0;
        for (const auto& [c, choice] : table.known()) {
            index_t n[detail::line_numbers];
            detail::to_numbers(c, choice, n);
            std::string line;
            for (index_t x : n) {
                line += std::to_string(x) + ' ';
            }
            line.back() = '\n';
            good = good && std::fputs(line.c_str(), f.get()) >= 0;
        }
        if (!good) {
            throw error("tessera: the measured algorithms cannot be written to " + fresh +
                        "; look at the folder and at the space on its disk");
        }
    }
    if (std::rename(fresh.c_str(), path.c_str()) != 0) {
        throw error("tessera: the measured algorithms cannot be moved to " + path + "; look at the folder's rights");
    }
}

} // namespace tessera::cuda
