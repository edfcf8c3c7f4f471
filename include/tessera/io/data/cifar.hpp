// SPDX-License-Identifier: Apache-2.0
// CIFAR-10 and CIFAR-100 (Krizhevsky 2009) in their binary version, https://www.cs.toronto.edu/~kriz/cifar.html: rows
// of one label byte (CIFAR-100: two, the coarse and the fine label) and 3072 pixels, the red plane first, each plane by
// lines of 32.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/data/images.hpp"
#include "tessera/io/files/byte_source.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::io {

/// Rows of a file, with one of its labels.
struct cifar_rows {
    std::vector<std::uint8_t> pixels; ///< [rows, 3, 32, 32]
    std::vector<std::int32_t> labels;
};

/// Which bytes stand before the pixels of a row, how many classes each of them tells apart, and which one is the label.
struct cifar_format {
    std::vector<int> classes;
    std::size_t label = 0;
};
inline cifar_format cifar10_format() { return {{10}, 0}; }
inline cifar_format cifar100_format() { return {{20, 100}, 1}; }        ///< the 100 classes
inline cifar_format cifar100_coarse_format() { return {{20, 100}, 0}; } ///< the 20 groups of classes

/// Reads a file of whole rows, plain or compressed by gzip; `rows`: how many it must have, 0 for any number but none.
/// Throws tessera::error, with file, row and byte, where it is cut, goes on, or has a label that is none.
cifar_rows read_cifar(const std::string& path, const cifar_format& format, std::int64_t rows = 0,
                      std::string_view remedy = "fetch the binary version of the file again");

/// Per channel, as shares of 255: of the training images.
struct channel_statistics {
    std::array<float, 3> mean{};
    std::array<float, 3> deviation{1, 1, 1};
};
inline constexpr channel_statistics cifar10_statistics{{0.4914F, 0.4822F, 0.4465F}, {0.2470F, 0.2435F, 0.2616F}};
inline constexpr channel_statistics cifar100_statistics{{0.5071F, 0.4865F, 0.4409F}, {0.2673F, 0.2564F, 0.2762F}};

/// Images [samples, 3, 32, 32] of rows; a pixel x becomes (x/255 - mean) / deviation of its channel.
image_set images_of(cifar_rows rows, int classes, const channel_statistics& s);

namespace detail {

image_set cifar(const std::vector<std::string>& files, const std::string& folder, const cifar_format& format,
                std::int64_t rows, const channel_statistics& statistics);

void require_part(std::string_view name, std::string_view part);

} // namespace detail

/// 50000 images to train with or 10000 to test with, of ten classes, from the folder cifar-10-batches-bin. Throws
/// tessera::error.
image_set cifar10(std::string_view part, const std::string& folder);

/// 50000 images to train with or 10000 to test with, from the folder cifar-100-binary: of a hundred classes, or,
/// `coarse`, of twenty. Throws tessera::error.
image_set cifar100(std::string_view part, const std::string& folder, bool coarse = false);

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/data/cifar.inl"
#endif

#include "tessera/base/end_header.inl"
