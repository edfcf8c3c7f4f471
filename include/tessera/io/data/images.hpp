// SPDX-License-Identifier: Apache-2.0
// Sets of images.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/data/batches.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::io {

/// Images of one shape, [samples, channels, height, width], with one label each.
class image_set : public sample_set {
public:
    /// Throws tessera::error where the pixels are not as many as the labels and the shape of an image make.
    image_set(std::vector<float> images, std::vector<std::int32_t> labels, std::array<std::int64_t, 3> shape,
              int classes);

    [[nodiscard]] std::span<const float> images() const { return inputs(); }
    /// One image, [channels, height, width]; the index must be below size().
    [[nodiscard]] std::span<const float> image(std::int64_t index) const;
    [[nodiscard]] std::int64_t channels() const { return shape_[0]; }
    [[nodiscard]] std::int64_t height() const { return shape_[1]; }
    [[nodiscard]] std::int64_t width() const { return shape_[2]; }
    [[nodiscard]] int classes() const { return classes_; }

private:
    std::array<std::int64_t, 3> shape_{};
    int classes_ = 0;
};

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/data/images.inl"
#endif

#include "tessera/base/end_header.inl"
