// SPDX-License-Identifier: Apache-2.0
// Measured algorithms in a file, so that a network is measured once on a machine.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/measure/algorithms.hpp"
#include "tessera/base/file.hpp"

#include <charconv>
#include <string_view>

namespace tessera::cuda {

namespace detail {

/// Measured files are not larger.
inline constexpr std::size_t most_file_bytes = std::size_t{64} << 20U;

/// Calls body(line) for every whole line of a text behind the first, which must be `machine`: what another machine
/// measured is left alone.
template <class Body>
void for_each_line(const std::string& text, const std::string& machine, Body&& body) {
    if (text.compare(0, machine.size() + 1, machine + "\n") != 0) {
        return;
    }
    for (std::size_t begin = machine.size() + 1;;) {
        const std::size_t end = text.find('\n', begin);
        if (end == std::string::npos) {
            return; // also where the last line has no end
        }
        body(std::string_view(text).substr(begin, end + 1 - begin)); // with its end
        begin = end + 1;
    }
}

/// The numbers of a line: what is computed (28; for images the fields of a fifth and of a third dimension have their
/// defaults), then algorithm, math type, workspace, microseconds. A line for a matrix product begins with a 3: what is
/// computed, algorithm, microseconds, zeros.
inline constexpr int line_numbers = 32;

void to_numbers(const convolution& c, const algorithm_choice& choice, index_t (&n)[line_numbers]);

inline constexpr index_t product_line = 3;

void to_numbers(const matrix_product& m, const algorithm_choice& choice, index_t (&n)[line_numbers]);

/// Adds the product of a line, if it is one.
void add_product(algorithm_table& table, const index_t (&n)[line_numbers]);

std::pair<convolution, algorithm_choice> from_numbers(const index_t (&n)[line_numbers]);

} // namespace detail

namespace detail {

/// Adds what a file's text knows.
void add_algorithms(algorithm_table& table, const std::string& text, const std::string& machine);

} // namespace detail

/// Adds what a file knows. Its first line must be `machine` (GPU and library versions): what another machine measured
/// is left alone, and so are lines that are damaged. A file that is not there knows nothing. Throws tessera::error
/// where it cannot be read, is a folder or a device, or is larger than such files get.
void read_algorithms(algorithm_table& table, const std::string& path, const std::string& machine);

/// What a table knows, as a file has it.
std::string text_of(const algorithm_table& table, const std::string& machine);

/// Adds what a table knows to a file, which keeps what other processes have added meanwhile; of another machine's it
/// takes the place. Throws tessera::error where it cannot be written.
void write_algorithms(const algorithm_table& table, const std::string& path, const std::string& machine);

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/measure/algorithm_file.inl"
#endif

#include "tessera/base/end_header.inl"
