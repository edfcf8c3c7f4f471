// SPDX-License-Identifier: Apache-2.0
// Measured algorithms in a file, so that a network is measured once on a machine.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/measure/algorithms.hpp"
#include "tessera/base/file.hpp"

#include <bit>
#include <charconv>
#include <cstring>
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

/// The numbers of a line, in order.
inline constexpr int line_numbers = 32;

/// Of a convolution. For images the fields of a fifth and of a third dimension have their defaults.
struct convolution_line {
    index_t way = 0;
    index_t dimensions = 0;
    struct {
        index_t x = 0;
        index_t w = 0;
        index_t y = 0;
    } extents[max_rank];
    struct {
        index_t padding = 0;
        index_t stride = 0;
        index_t dilation = 0;
    } windows[max_rank - 2];
    index_t groups = 0;
    index_t math = 0;
    index_t algorithm = 0;
    index_t multipliers = 0;
    index_t workspace = 0;
    index_t microseconds = 0;
};

/// Of a product of matrices, which begins with what no convolution's way is.
struct product_line {
    static constexpr index_t first = 3;

    index_t kind = first;
    index_t m = 0;
    index_t n = 0;
    index_t k = 0;
    index_t transpose_a = 0;
    index_t transpose_b = 0;
    index_t bias = 0;
    index_t positive = 0;
    index_t sums = 0;
    index_t batch = 0;
    index_t lead[3] = {};
    index_t apart[3] = {};
    index_t alignment = 0;
    index_t math = 0;
    index_t result = 0;
    index_t workspace = 0;
    index_t algorithm = 0;
    index_t microseconds = 0;
    index_t zeros[10] = {};
};

static_assert(sizeof(convolution_line) == line_numbers * sizeof(index_t));
static_assert(sizeof(product_line) == line_numbers * sizeof(index_t));

convolution_line line_of(const convolution& c, const algorithm_choice& choice);

product_line line_of(const matrix_product& m, const algorithm_choice& choice);

/// Adds the product of a line, if it is one.
void add_line(algorithm_table& table, const product_line& line);

/// Adds the convolution of a line, if it is one.
void add_line(algorithm_table& table, const convolution_line& line);

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
