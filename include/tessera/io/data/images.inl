// SPDX-License-Identifier: Apache-2.0
// Bodies of images.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/data/images.hpp"

namespace tessera::io {

TESSERA_INLINE image_set::image_set(std::vector<float> images, std::vector<std::int32_t> labels,
                                    std::array<std::int64_t, 3> shape, int classes)
    : sample_set(std::move(images), std::move(labels)), shape_{shape}, classes_{classes} {
    const auto expected = to_size(size() * shape[0] * shape[1] * shape[2]);
    if (inputs().size() != expected)
        throw error("a set of " + std::to_string(size()) + " images has " + std::to_string(inputs().size()) +
                    " pixels; its shape needs " + std::to_string(expected));
}

TESSERA_INLINE std::span<const float> image_set::image(std::int64_t index) const {
    const auto size = to_size(channels() * height() * width());
    return images().subspan(to_size(index) * size, size);
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
