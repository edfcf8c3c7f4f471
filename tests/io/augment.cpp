// SPDX-License-Identifier: Apache-2.0
// Augmented images against a padded copy, flipped and cut by hand.
#include "tessera/io/data/augment.hpp"
#include "support/refusal.hpp"

#include <doctest/doctest.h>

#include <array>
#include <random>

namespace {

using namespace tessera::io;

image_set random_images(std::mt19937& random, std::int64_t samples, std::array<std::int64_t, 3> shape) {
    std::vector<float> pixels(tessera::to_size(samples * shape[0] * shape[1] * shape[2]));
    for (float& p : pixels) p = static_cast<float>(random() % 1000 + 1);
    std::vector<std::int32_t> labels;
    for (std::int64_t s = 0; s < samples; ++s) labels.push_back(static_cast<std::int32_t>(s));
    return {std::move(pixels), std::move(labels), shape, static_cast<int>(samples)};
}

/// Makes the padded image, turns it if need be, and cuts.
std::vector<float> by_hand(const augmentation& a, const drawn_augmentation& d, std::span<const float> image,
                           const std::array<std::int64_t, 3>& shape) {
    const std::int64_t pad = a.crop_padding;
    const auto [channels, height, width] = shape;
    const std::int64_t wide = width + 2 * pad;
    std::vector<float> result;
    for (std::int64_t c = 0; c < channels; ++c) {
        std::vector<float> padded(tessera::to_size((height + 2 * pad) * wide), 0.0F);
        for (std::int64_t y = 0; y < height; ++y)
            for (std::int64_t x = 0; x < width; ++x)
                padded[tessera::to_size((y + pad) * wide + x + pad)] =
                    image[tessera::to_size((c * height + y) * width + x)];
        for (std::int64_t y = 0; y < height; ++y) {
            std::vector<float> row;
            for (std::int64_t x = 0; x < width; ++x)
                row.push_back(padded[tessera::to_size((y + d.down) * wide + x + d.right)]);
            if (d.flipped) std::reverse(row.begin(), row.end());
            for (float& p : row) {
                if (!a.mean.empty()) p -= a.mean[tessera::to_size(c)];
                if (!a.deviation.empty()) p /= a.deviation[tessera::to_size(c)];
            }
            result.insert(result.end(), row.begin(), row.end());
        }
    }
    return result;
}

} // namespace

TEST_CASE("crops, flips and normalizations are those by hand, in any batch and order") {
    std::mt19937 random(1);
    for (int round = 0; round < 100; ++round) {
        const std::array<std::int64_t, 3> shape{1 + static_cast<std::int64_t>(random() % 3),
                                                2 + static_cast<std::int64_t>(random() % 5),
                                                2 + static_cast<std::int64_t>(random() % 5)};
        const image_set set = random_images(random, 1 + static_cast<std::int64_t>(random() % 9), shape);
        augmentation a{.seed = random(), .crop_padding = static_cast<int>(random() % 3), .flip = random() % 2 == 0};
        for (std::int64_t c = 0; c < shape[0] && round % 3 != 0; ++c) {
            a.mean.push_back(static_cast<float>(random() % 9));
            a.deviation.push_back(static_cast<float>(random() % 9 + 1));
        }
        const augmented_images images(set, a);
        const std::uint64_t epoch = random() % 5;
        batch_options options{.epoch = epoch};
        if (random() % 2 == 0) options.shuffle_seed = random();
        std::int64_t seen = 0;
        const std::size_t each = tessera::to_size(shape[0] * shape[1] * shape[2]);
        for (const batch& b : images.batches(1 + static_cast<std::int64_t>(random() % 4), options)) {
            for (std::size_t i = 0; i < b.labels.size(); ++i, ++seen) {
                const std::int64_t sample = b.labels[i];
                const auto one = b.inputs.subspan(i * each, each);
                CHECK(std::vector<float>(one.begin(), one.end()) ==
                      by_hand(a, draw(a, epoch, sample), set.image(sample), shape));
            }
        }
        CHECK(seen == set.size());
    }
}

TEST_CASE("every crop and flip comes about equally often, and seeds, epochs and samples differ") {
    const augmentation a{.seed = 3, .crop_padding = 2, .flip = true};
    std::array<int, 50> count{};
    for (std::int64_t s = 0; s < 50000; ++s) {
        const drawn_augmentation d = draw(a, static_cast<std::uint64_t>(s % 7), s / 7);
        ++count.at(tessera::to_size((d.down * 5 + d.right) * 2 + (d.flipped ? 1 : 0)));
    }
    double chi_squared = 0;
    for (const int n : count) chi_squared += (n - 1000.0) * (n - 1000.0) / 1000.0;
    CHECK(chi_squared < 100); // 49 degrees of freedom: above once in 30000 times
    const auto places = [](const augmentation& augment, std::uint64_t epoch) {
        std::vector<int> all;
        for (std::int64_t s = 0; s < 20; ++s)
            all.push_back(draw(augment, epoch, s).down * 5 + draw(augment, epoch, s).right);
        return all;
    };
    CHECK(places(a, 0) == places(a, 0));
    CHECK(places(a, 0) != places(a, 1));
    CHECK(places(a, 0) != places({.seed = 4, .crop_padding = 2}, 0));
}

TEST_CASE("augmentations that do not fit the images are refused") {
    std::mt19937 random(2);
    const image_set set = random_images(random, 2, {3, 4, 5});
    const auto refusal = [&](const augmentation& a) {
        return test_support::message_of([&] { static_cast<void>(augmented_images(set, a)); });
    };
    CHECK(refusal({.crop_padding = 4}) == "accepted");
    CHECK(refusal({.crop_padding = 5}) ==
          "images of 4x5 pixels are cropped with a padding of 5; give one from 0 to the smaller side");
    CHECK(test_support::contains(refusal({.crop_padding = -1}), "a padding of -1"));
    CHECK(refusal({.mean = {1, 2}}) ==
          "images of 3 channels are normalized with 2 means; give one for each channel, or none");
    CHECK(refusal({.deviation = {1, 2, 0}}) == "a channel's deviation is 0.000000; give one above 0");
    CHECK(test_support::contains(refusal({.deviation = {1}}), "1 deviations"));
}

TEST_CASE("the hash of augmented images is of the images and of every setting") {
    std::mt19937 random(6);
    const image_set set = random_images(random, 3, {2, 4, 5});
    const image_set other = random_images(random, 3, {2, 4, 5});
    const augmentation a{.seed = 3, .crop_padding = 1, .flip = true, .mean = {1, 2}, .deviation = {3, 4}};
    const std::uint64_t hash = augmented_images(set, a).hash();
    CHECK(augmented_images(set, a).hash() == hash);
    CHECK(augmented_images(other, a).hash() != hash);
    augmentation changed[] = {a, a, a, a, a};
    changed[0].seed = 4;
    changed[1].crop_padding = 2;
    changed[2].flip = false;
    changed[3].mean = {2, 1};
    changed[4].deviation = {};
    for (const augmentation& b : changed) CHECK(augmented_images(set, b).hash() != hash);
}
