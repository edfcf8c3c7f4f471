// SPDX-License-Identifier: Apache-2.0
// Bodies of fashion_mnist.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/data/fashion_mnist.hpp"

namespace tessera::io {

TESSERA_INLINE std::string fashion_mnist_directory() {
    const char* chosen = std::getenv("TESSERA_DATA");
    return chosen != nullptr && *chosen != '\0' ? chosen : "/usr/share/datasets/fashion-mnist";
}

TESSERA_INLINE image_set fashion_mnist(std::string_view split, const std::string& directory, pixel_values as) {
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

TESSERA_INLINE image_set fashion_mnist(std::string_view split, pixel_values as) {
    return fashion_mnist(split, fashion_mnist_directory(), as);
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
