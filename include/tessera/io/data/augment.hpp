// SPDX-License-Identifier: Apache-2.0
// Images changed on their way into a batch: random crops of a padded image, random horizontal flips, normalization by
// channel. What happens to a sample is a function of seed, epoch and the sample's number in the set: the same in every
// run, under any batch size, order or thread.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/finite.hpp"
#include "tessera/base/number_text.hpp"
#include "tessera/io/data/images.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::io {

/// First the crop, then the flip, then the normalization.
struct augmentation {
    std::uint64_t seed = 0;
    int crop_padding = 0;           ///< zeros around the image, from which as large an image is cut at a random place
    bool flip = false;              ///< left and right are exchanged in every second image
    std::vector<float> mean{};      ///< of each channel, subtracted; empty: nothing
    std::vector<float> deviation{}; ///< of each channel, by which the rest is divided; empty: nothing
};

/// What the random numbers of a sample say.
struct drawn_augmentation {
    int down = 0;  ///< where the crop begins in the padded image
    int right = 0; ///< both from 0 to 2*crop_padding
    bool flipped = false;
};

drawn_augmentation draw(const augmentation& a, std::uint64_t epoch, std::int64_t sample);

/// One image [channels, height, width] into another of this shape; both have channels*height*width numbers.
void augment(const augmentation& a, const drawn_augmentation& d, std::int64_t channels, std::int64_t height,
             std::int64_t width, std::span<const float> from, std::span<float> to);

/// A set of images in batches of changed ones. Like the set it can be trained on; the set must outlive it.
class augmented_images {
public:
    /// Throws tessera::error where means or deviations are not one for each channel, or the padding is negative or
    /// beyond the image.
    augmented_images(const image_set& set, augmentation augment);
    augmented_images(image_set&& set, augmentation augment) = delete; // it would be gone

    [[nodiscard]] std::int64_t size() const { return set_->size(); }
    [[nodiscard]] const augmentation& how() const { return how_; }
    /// Of the images and of what is made of them.
    [[nodiscard]] std::uint64_t hash() const;
    [[nodiscard]] batch_range batches(std::int64_t batch_size, const batch_options& options = {}) const;

private:
    void require_for_channels(std::size_t count, const char* what) const;

    const image_set* set_;
    augmentation how_;
};

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/data/augment.inl"
#endif

#include "tessera/base/end_header.inl"
