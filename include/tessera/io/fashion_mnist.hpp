// SPDX-License-Identifier: Apache-2.0
// Fashion-MNIST (Xiao, Rasul, Vollgraf 2017): 60000 images to train with and 10000 to test with, 28x28, ten kinds of
// clothes.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/idx.hpp"
#include "tessera/io/images.hpp"

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
inline std::string fashion_mnist_directory() {
    const char* chosen = std::getenv("TESSERA_DATA");
    return chosen != nullptr && *chosen != '\0' ? chosen : "/usr/share/datasets/fashion-mnist";
}

/// What becomes of a pixel x, which the files have from 0 to 255.
enum class pixel_values {
    normalized, ///< (x/255 - mean) / deviation
    unit,       ///< x/255
    raw         ///< x
};

/// Reads "train" or "test" from the folder, from files compressed by gzip or plain. Throws tessera::error where a file is missing or damaged, or where the two do not fit together.
inline image_set fashion_mnist(std::string_view split, const std::string& directory = fashion_mnist_directory(),
                               pixel_values as = pixel_values::normalized) {
    if (split != "train" && split != "test")
        throw error("Fashion-MNIST has no part '" + std::string{split} + "'; ask for \"train\" or \"test\"");
    constexpr std::string_view remedy =
        "install the Debian package dataset-fashion-mnist, or set TESSERA_DATA to a folder "
        "with the files of Fashion-MNIST";
    const std::string stem = directory + (split == "train" ? "/train-" : "/t10k-");
    const auto read = [&](const std::string& name, int rank) {
        struct stat found {};
        const bool plain = ::stat((name + ".gz").c_str(), &found) != 0 && ::stat(name.c_str(), &found) == 0;
        return read_idx(plain ? name : name + ".gz", rank, remedy);
    };
    const auto refuse = [&](const std::string& what) {
        throw error("Fashion-MNIST in '" + directory + "': " + what + "; " + std::string{remedy});
    };

    idx_array images = read(stem + "images-idx3-ubyte", 3);
    const idx_array labels = read(stem + "labels-idx1-ubyte", 1);
    constexpr std::int64_t side = 28;
    constexpr int classes = 10;
    if (images.extents[0] != labels.extents[0])
        refuse(std::to_string(images.extents[0]) + " images but " + std::to_string(labels.extents[0]) +
               " labels for '" + std::string{split} + "'");
    if (images.extents[1] != side || images.extents[2] != side)
        refuse("images of " + std::to_string(images.extents[1]) + "x" + std::to_string(images.extents[2]) +
               " pixels; expected 28x28");
    for (std::size_t i = 0; i < labels.elements.size(); ++i)
        if (labels.elements[i] >= classes)
            refuse("label " + std::to_string(i) + " is " + std::to_string(labels.elements[i]) + "; expected 0 to 9");

    std::array<float, 256> normalised{};
    for (std::size_t value = 0; value < normalised.size(); ++value) {
        const auto x = static_cast<float>(value);
        normalised[value] = as == pixel_values::raw    ? x
                            : as == pixel_values::unit ? x / 255.0F
                                                       : (x / 255.0F - fashion_mnist_mean) / fashion_mnist_deviation;
    }
    std::vector<float> pixels(images.elements.size());
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = normalised[images.elements[i]];
    return {std::move(pixels), {labels.elements.begin(), labels.elements.end()}, {1, side, side}, classes};
}

/// The same from the usual folder: fashion_mnist("train", pixel_values::raw).
inline image_set fashion_mnist(std::string_view split, pixel_values as) {
    return fashion_mnist(split, fashion_mnist_directory(), as);
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
