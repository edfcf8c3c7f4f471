// SPDX-License-Identifier: Apache-2.0
// Images changed on their way into a batch: random crops of a padded image, random horizontal flips, normalization by channel. What happens to a sample is
// a function of seed, epoch and the sample's number in the set: the same in every run, under any batch size, order or thread.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/finite.hpp"
#include "tessera/base/number_text.hpp"
#include "tessera/io/images.hpp"

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

inline drawn_augmentation draw(const augmentation& a, std::uint64_t epoch, std::int64_t sample) {
    const std::uint64_t key = op::mix(op::mix(op::mix(a.seed) ^ epoch) ^ static_cast<std::uint64_t>(sample));
    const auto below = [&](std::uint64_t which, std::uint64_t bound) {
        return static_cast<int>((op::mix(key + which) >> 32U) * bound >> 32U);
    };
    const auto places = static_cast<std::uint64_t>(2 * std::int64_t{a.crop_padding} + 1);
    return {below(0, places), below(1, places), a.flip && below(2, 2) == 1};
}

/// One image [channels, height, width] into another of this shape; both have channels*height*width numbers.
inline void augment(const augmentation& a, const drawn_augmentation& d, std::int64_t channels, std::int64_t height,
                    std::int64_t width, std::span<const float> from, std::span<float> to) {
    std::size_t at = 0;
    for (std::int64_t c = 0; c < channels; ++c) {
        const float mean = a.mean.empty() ? 0.0F : a.mean[static_cast<std::size_t>(c)];
        const float deviation = a.deviation.empty() ? 1.0F : a.deviation[static_cast<std::size_t>(c)];
        for (std::int64_t y = 0; y < height; ++y) {
            const std::int64_t row = y + d.down - a.crop_padding;
            for (std::int64_t x = 0; x < width; ++x, ++at) {
                const std::int64_t column = (d.flipped ? width - 1 - x : x) + d.right - a.crop_padding;
                const bool inside = row >= 0 && row < height && column >= 0 && column < width;
                const float pixel = inside ? from[static_cast<std::size_t>((c * height + row) * width + column)] : 0.0F;
                to[at] = (pixel - mean) / deviation;
            }
        }
    }
}

/// A set of images in batches of changed ones. Like the set it can be trained on; the set must outlive it.
class augmented_images {
public:
    /// Throws tessera::error where means or deviations are not one for each channel, or the padding is negative or beyond the image.
    augmented_images(const image_set& set, augmentation how) : set_{&set}, how_{std::move(how)} {
        if (how_.crop_padding < 0 || how_.crop_padding > std::min(set.height(), set.width()))
            throw error("images of " + std::to_string(set.height()) + "x" + std::to_string(set.width()) +
                        " pixels are cropped with a padding of " + std::to_string(how_.crop_padding) +
                        "; give one from 0 to the smaller side");
        require_for_channels(how_.mean.size(), "means");
        require_for_channels(how_.deviation.size(), "deviations");
        for (const float d : how_.deviation)
            if (!(d > 0 && is_finite(d)))
                throw error("a channel's deviation is " + fixed_text(d) + "; give one above 0");
    }
    augmented_images(image_set&& set, augmentation how) = delete; // it would be gone

    [[nodiscard]] std::int64_t size() const { return set_->size(); }
    [[nodiscard]] const augmentation& how() const { return how_; }
    /// Of the images and of what is made of them.
    [[nodiscard]] std::uint64_t hash() const {
        std::uint64_t h = op::mix(set_->hash() ^ how_.seed);
        h = op::mix(h ^ static_cast<std::uint64_t>(how_.crop_padding) ^ (how_.flip ? std::uint64_t{1} << 32U : 0));
        return hash_of_elements<float>(how_.deviation, hash_of_elements<float>(how_.mean, h));
    }
    [[nodiscard]] batch_range batches(std::int64_t batch_size, const batch_options& options = {}) const {
        return set_->batches(batch_size, options)
            .changed([set = set_, how = how_, epoch = options.epoch](std::int64_t sample, std::span<const float> from,
                                                                     std::span<float> to) {
                augment(how, draw(how, epoch, sample), set->channels(), set->height(), set->width(), from, to);
            });
    }

private:
    void require_for_channels(std::size_t count, const char* what) const {
        if (count != 0 && static_cast<std::int64_t>(count) != set_->channels())
            throw error("images of " + std::to_string(set_->channels()) + " channels are normalized with " +
                        std::to_string(count) + " " + what + "; give one for each channel, or none");
    }

    const image_set* set_;
    augmentation how_;
};

} // namespace tessera::io

#include "tessera/base/end_header.inl"
