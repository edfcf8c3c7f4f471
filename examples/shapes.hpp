// SPDX-License-Identifier: Apache-2.0
// Generated pictures to tell the parts of: circles, squares and triangles in noise, with the kind of each pixel.
#pragma once

#include <tessera/io/data/images.hpp>
#include <tessera/op/mask.hpp>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace shapes {

enum kind : std::int32_t { background, circle, square, triangle };
constexpr int kinds = 4;

/// Random numbers from 0 to 1 as a function of a key and how many were drawn before.
class random_numbers {
public:
    explicit random_numbers(std::uint64_t key) : key_(tessera::op::mix(key)) {}
    double operator()() { return static_cast<double>(tessera::op::mix(key_ + drawn_++) >> 11U) / 9007199254740992.0; }
    double from(double least, double most) { return least + (most - least) * (*this)(); }
    /// Of the normal distribution (Box and Muller 1958).
    double normal() {
        const double radius = std::sqrt(-2 * std::log(1 - (*this)()));
        return radius * std::cos(6.283185307179586 * (*this)());
    }

private:
    std::uint64_t key_;
    std::uint64_t drawn_ = 0;
};

/// Whether a pixel, `x` right of and `y` below the middle, is inside a shape of this radius; a triangle stands on its
/// base.
inline bool inside(kind what, double x, double y, double radius) {
    switch (what) {
    case circle:
        return x * x + y * y <= radius * radius;
    case square:
        return std::abs(x) <= 0.85 * radius && std::abs(y) <= 0.85 * radius;
    case triangle: // its corners on the circle around it
        return y <= 0.5 * radius && std::abs(x) <= (y + radius) / 1.7320508075688772;
    default:
        return false;
    }
}

/// Pictures [1,Pixels,Pixels] with a label for each pixel: one to three shapes, each of its own grey, the later in
/// front of the earlier, and noise of a deviation of 0.2. Picture i is a function of the seed and i.
inline std::pair<std::vector<float>, std::vector<std::int32_t>> draw(std::int64_t count, std::int64_t pixels,
                                                                     std::uint64_t seed) {
    std::vector<float> greys;
    std::vector<std::int32_t> labels;
    const auto each = tessera::to_size(pixels * pixels);
    std::vector<double> grey(each);
    std::vector<std::int32_t> label(each);
    for (std::int64_t i = 0; i < count; ++i) {
        random_numbers random(seed * 1000003 + static_cast<std::uint64_t>(i));
        grey.assign(each, 0);
        label.assign(each, background);
        const int shapes = 1 + static_cast<int>(3 * random());
        for (int s = 0; s < shapes; ++s) {
            const kind what = static_cast<kind>(1 + static_cast<int>(3 * random()));
            const auto size = static_cast<double>(pixels);
            const double radius = random.from(size / 7, size / 3.5);
            const double right = random.from(radius, size - radius);
            const double down = random.from(radius, size - radius);
            const double brightness = random.from(0.6, 1.4);
            for (std::int64_t y = 0; y < pixels; ++y) {
                for (std::int64_t x = 0; x < pixels; ++x) {
                    if (inside(what, static_cast<double>(x) + 0.5 - right, static_cast<double>(y) + 0.5 - down,
                               radius)) {
                        grey[tessera::to_size(y * pixels + x)] = brightness;
                        label[tessera::to_size(y * pixels + x)] = what;
                    }
                }
            }
        }
        for (const double g : grey) greys.push_back(static_cast<float>(g + 0.2 * random.normal()));
        labels.insert(labels.end(), label.begin(), label.end());
    }
    return {std::move(greys), std::move(labels)};
}

} // namespace shapes
