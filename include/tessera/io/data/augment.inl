// SPDX-License-Identifier: Apache-2.0
// Bodies of augment.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/data/augment.hpp"

namespace tessera::io {

TESSERA_INLINE drawn_augmentation draw(const augmentation& a, std::uint64_t epoch, std::int64_t sample) {
    const std::uint64_t key = op::mix(op::mix(op::mix(a.seed) ^ epoch) ^ static_cast<std::uint64_t>(sample));
    const auto below = [&](std::uint64_t which, std::uint64_t bound) {
        return static_cast<int>((op::mix(key + which) >> 32U) * bound >> 32U);
    };
    const auto places = static_cast<std::uint64_t>(2 * std::int64_t{a.crop_padding} + 1);
    return {below(0, places), below(1, places), a.flip && below(2, 2) == 1};
}

TESSERA_INLINE void augment(const augmentation& a, const drawn_augmentation& d, std::int64_t channels,
                            std::int64_t height, std::int64_t width, std::span<const float> from, std::span<float> to) {
    std::size_t at = 0;
    for (std::int64_t c = 0; c < channels; ++c) {
        const float mean = a.mean.empty() ? 0.0F : a.mean[to_size(c)];
        const float deviation = a.deviation.empty() ? 1.0F : a.deviation[to_size(c)];
        for (std::int64_t y = 0; y < height; ++y) {
            const std::int64_t row = y + d.down - a.crop_padding;
            for (std::int64_t x = 0; x < width; ++x, ++at) {
                const std::int64_t column = (d.flipped ? width - 1 - x : x) + d.right - a.crop_padding;
                const bool inside = row >= 0 && row < height && column >= 0 && column < width;
                const float pixel = inside ? from[to_size((c * height + row) * width + column)] : 0.0F;
                to[at] = (pixel - mean) / deviation;
            }
        }
    }
}

TESSERA_INLINE augmented_images::augmented_images(const image_set& set, augmentation augment)
    : set_{&set}, how_{std::move(augment)} {
    if (how_.crop_padding < 0 || how_.crop_padding > std::min(set.height(), set.width()))
        throw error("images of " + std::to_string(set.height()) + "x" + std::to_string(set.width()) +
                    " pixels are cropped with a padding of " + std::to_string(how_.crop_padding) +
                    "; give one from 0 to the smaller side");
    require_for_channels(how_.mean.size(), "means");
    require_for_channels(how_.deviation.size(), "deviations");
    for (const float d : how_.deviation)
        if (!(d > 0 && is_finite(d))) throw error("a channel's deviation is " + fixed_text(d) + "; give one above 0");
}

TESSERA_INLINE std::uint64_t augmented_images::hash() const {
    std::uint64_t h = op::mix(set_->hash() ^ how_.seed);
    h = op::mix(h ^ static_cast<std::uint64_t>(how_.crop_padding) ^ (how_.flip ? std::uint64_t{1} << 32U : 0));
    return hash_of_elements<float>(how_.deviation, hash_of_elements<float>(how_.mean, h));
}

TESSERA_INLINE batch_range augmented_images::batches(std::int64_t batch_size, const batch_options& options) const {
    return set_->batches(batch_size, options)
        .changed([set = set_, how = how_, epoch = options.epoch](std::int64_t sample, std::span<const float> from,
                                                                 std::span<float> to) {
            augment(how, draw(how, epoch, sample), set->channels(), set->height(), set->width(), from, to);
        });
}

TESSERA_INLINE void augmented_images::require_for_channels(std::size_t count, const char* what) const {
    if (count != 0 && static_cast<std::int64_t>(count) != set_->channels())
        throw error("images of " + std::to_string(set_->channels()) + " channels are normalized with " +
                    std::to_string(count) + " " + what + "; give one for each channel, or none");
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
