// SPDX-License-Identifier: Apache-2.0
// Fashion-MNIST (Xiao, Rasul, Vollgraf 2017): 60000 images to train with and 10000 to test with, 28x28, ten kinds of
// clothes.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/data/idx.hpp"
#include "tessera/io/data/images.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace tessera::io {

/// Mean and standard deviation of a pixel of the training images, as a share of 255; images are normalised with them.
inline constexpr float fashion_mnist_mean = 0.2860F;
inline constexpr float fashion_mnist_deviation = 0.3530F;

/// The folder in the environment variable TESSERA_DATA, or else the one of Debian's package.
std::string fashion_mnist_directory();

/// What becomes of a pixel x, which the files have from 0 to 255.
enum class pixel_values {
    normalized, ///< (x/255 - mean) / deviation
    unit,       ///< x/255
    raw         ///< x
};

/// Reads "train" or "test" from the folder, from files compressed by gzip or plain. Throws tessera::error where a file
/// is missing or damaged, or where the two do not fit together.
image_set fashion_mnist(std::string_view split, const std::string& directory = fashion_mnist_directory(),
                        pixel_values as = pixel_values::normalized);

/// The same from the usual folder: fashion_mnist("train", pixel_values::raw).
image_set fashion_mnist(std::string_view split, pixel_values as);

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/data/fashion_mnist.inl"
#endif

#include "tessera/base/end_header.inl"
