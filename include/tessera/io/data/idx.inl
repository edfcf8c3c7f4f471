// SPDX-License-Identifier: Apache-2.0
// Bodies of idx.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/io/data/idx.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::vector<std::int64_t> read_idx_extents(byte_source& source, int rank) {
    std::array<std::uint8_t, 4> word{};
    if (source.read(word.data(), word.size()) != word.size()) source.refuse("is cut short: it has no IDX header");
    if (word[0] != 0 || word[1] != 0)
        source.refuse("is not an IDX file: it must start with two zero bytes, not with " + std::to_string(word[0]) +
                      " and " + std::to_string(word[1]));
    if (word[2] != 8)
        source.refuse("has elements of IDX type " + std::to_string(word[2]) + "; expected unsigned bytes, type 8");
    if (word[3] != rank)
        source.refuse("has " + std::to_string(word[3]) + " dimensions; expected " + std::to_string(rank) +
                      (rank == 1 ? ", as labels have" : ", as images have"));
    std::vector<std::int64_t> extents;
    std::int64_t elements = 1;
    for (int dimension = 0; dimension < rank; ++dimension) {
        if (source.read(word.data(), word.size()) != word.size()) source.refuse("is cut short in its IDX header");
        std::int64_t extent = 0;
        for (const std::uint8_t byte : word) extent = extent * 256 + byte;
        const std::string where = "dimension " + std::to_string(dimension) + " of extent " + std::to_string(extent);
        if (extent == 0) source.refuse("has " + where + "; expected at least 1");
        if (extent > idx_element_limit / elements)
            source.refuse("has " + where + ", which makes more than the " + std::to_string(idx_element_limit) +
                          " elements that are believed");
        elements *= extent;
        extents.push_back(extent);
    }
    return extents;
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE idx_array read_idx(const std::string& path, int rank, std::string_view remedy) {
    if (rank != 1 && rank != 3)
        throw error("IDX files are read in rank 1 or 3, not " + std::to_string(rank) +
                    "; ask for 1 (labels) or 3 (images)");
    detail::byte_source source{path, remedy};
    idx_array result{detail::read_idx_extents(source, rank), {}};
    std::size_t expected = 1;
    for (const std::int64_t extent : result.extents) expected *= to_size(extent);
    while (result.elements.size() < expected) {
        const std::size_t before = result.elements.size();
        const std::size_t step = std::min(expected - before, std::max<std::size_t>(before, 1U << 20U));
        result.elements.resize(before + step);
        const std::size_t got = source.read(result.elements.data() + before, step);
        if (got != step)
            source.refuse("is cut short: it has " + std::to_string(before + got) + " elements; its header promises " +
                          std::to_string(expected));
    }
    std::uint8_t extra = 0;
    if (source.read(&extra, 1) != 0)
        source.refuse("goes on after the " + std::to_string(expected) + " elements that its header promises");
    return result;
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
