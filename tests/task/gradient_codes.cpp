// SPDX-License-Identifier: Apache-2.0
// What a device sends of a gradient and what it leaves out: against the formulas worked out in double, and by hand.
#include "tessera/task/gradient_codes.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

namespace ts = tessera;
using ts::compression;
using ts::compression_setting;
using ts::index_t;

/// A gradient sent once.
struct sent {
    std::vector<float> gradient;
    std::vector<float> residual;
    std::vector<std::byte> words;
    std::vector<float> arrived;

    sent(const compression_setting& compress, const std::vector<float>& g, const std::vector<float>& r)
        : gradient(g), residual(r), words(ts::to_size(4 * compress.words(n())) + 64, std::byte{0xa5}),
          arrived(g.size(), 0) {
        std::vector<std::int32_t> room(g.size());
        ts::codes::compress(compress, gradient.data(), residual.data(), n(), words.data(), room.data());
        ts::codes::add_decompressed(compress, words.data(), arrived.data(), n());
        for (std::size_t i = words.size() - 64; i < words.size(); ++i) {
            CHECK(words[i] == std::byte{0xa5}); // no more words than it says
        }
    }
    index_t n() const { return static_cast<index_t>(gradient.size()); }
};

std::vector<float> numbers(std::size_t n, std::uint64_t seed, float scale = 1) {
    std::vector<float> all(n);
    for (std::size_t i = 0; i < n; ++i) { // in -2 ... 2
        all[i] = scale * (static_cast<float>(ts::op::mix(seed * 1000 + i) % 20001) - 10000) / 5000.0F;
    }
    return all;
}

constexpr compression ways[] = {compression::eight_bits, compression::one_bit, compression::top_k};

} // namespace

TEST_CASE("compressed gradients: words") {
    CHECK(compression_setting{compression::eight_bits, 256}.words(1024) == 4 + 256);
    CHECK(compression_setting{compression::eight_bits, 256}.words(1025) == 5 + 257);
    CHECK(compression_setting{compression::eight_bits, 10}.words(3) == 1 + 1);
    CHECK(compression_setting{compression::one_bit, 256}.words(1024) == 2 * 4 + 32);
    CHECK(compression_setting{compression::one_bit, 256}.words(257) == 2 * 2 + 9);
    CHECK(compression_setting{compression::top_k, 256, 100}.words(1000) == 2 * 10);
    CHECK(compression_setting{compression::top_k, 256, 100}.words(1001) == 2 * 11);
    CHECK(compression_setting{compression::top_k, 256, 100}.words(3) == 2);
    for (const compression c : ways) {
        CHECK(compression_setting{c}.words(0) == 0);
    }
}

TEST_CASE("compressed gradients: what arrives and what is left out make the gradient and what was left out before") {
    for (const compression c : ways) {
        for (const int block : {1, 7, 32, 256}) {
            for (const std::size_t n : {1U, 2U, 31U, 64U, 333U}) {
                const sent x({c, block, 9}, numbers(n, n), numbers(n, n + 1, 0.1F));
                const std::vector<float> before = numbers(n, n + 1, 0.1F);
                double worst = 0;
                for (std::size_t i = 0; i < n; ++i) {
                    const double v = static_cast<double>(x.gradient[i]) + static_cast<double>(before[i]);
                    worst = std::max(
                        worst, std::abs(static_cast<double>(x.arrived[i]) + static_cast<double>(x.residual[i]) - v));
                }
                CAPTURE(to_text(c));
                CAPTURE(block);
                CAPTURE(n);
                CHECK(worst < 1e-6);
            }
        }
    }
}

TEST_CASE("compressed gradients: 8 bits are nearest multiples of a 127th of a block's largest magnitude") {
    const std::size_t n = 300;
    const int block = 128;
    const sent x({compression::eight_bits, block, 1}, numbers(n, 5), numbers(n, 6, 0.1F));
    const std::vector<float> before = numbers(n, 6, 0.1F);
    for (std::size_t first = 0; first < n; first += block) {
        const std::size_t end = std::min(n, first + block);
        double most = 0;
        for (std::size_t i = first; i < end; ++i) {
            most = std::max(most, std::abs(static_cast<double>(x.gradient[i]) + static_cast<double>(before[i])));
        }
        const double scale = most / 127;
        for (std::size_t i = first; i < end; ++i) {
            const double code = static_cast<double>(x.arrived[i]) / scale;
            CHECK(std::abs(code - std::round(code)) < 1e-4);
            CHECK(std::abs(code) < 127.001);
            CHECK(std::abs(static_cast<double>(x.residual[i])) <= scale / 2 * (1 + 1e-4));
        }
    }
    // By hand: the largest is 127 scales, and a half goes to the even one.
    const sent y({compression::eight_bits, 4, 1}, {127, -2.5F, 3.5F, 0.25F}, {0, 0, 0, 0});
    CHECK(y.arrived == std::vector<float>{127, -2, 4, 0});
    CHECK(y.residual == std::vector<float>{0, -0.5F, -0.5F, 0.25F});
    // Nothing is lost of numbers too small to have a scale, nor of zeros.
    const float tiny = std::numeric_limits<float>::denorm_min();
    const sent z({compression::eight_bits, 2, 1}, {0, tiny, 0, 0}, {0, 0, 0, 0});
    CHECK(z.arrived == std::vector<float>{0, 0, 0, 0});
    CHECK(z.residual == std::vector<float>{0, tiny, 0, 0});
    // A scale of one bit: 190 of the least numbers over 127 round to one, of which a byte says 127.
    const sent w({compression::eight_bits, 1, 1}, {190 * tiny}, {0});
    CHECK(w.arrived == std::vector<float>{127 * tiny});
    CHECK(w.residual == std::vector<float>{63 * tiny});
}

TEST_CASE("compressed gradients: 1 bit is the mean of a block's elements of the same sign") {
    const sent x({compression::one_bit, 4, 1}, {1, -2, 3, -4, 0, 5, -1, -1, 7}, {0, 0, 0, 0, 0, 0, 0, 0, 1});
    CHECK(x.arrived == std::vector<float>{2, -3, 2, -3, 2.5F, 2.5F, -1, -1, 8});
    CHECK(x.residual == std::vector<float>{-1, 1, 1, -1, -2.5F, 2.5F, 0, 0, 0});
}

TEST_CASE("compressed gradients: the largest elements go as they are, of equal ones the first") {
    const sent x({compression::top_k, 1, 3}, {1, -5, 2, 4, -4, 4, 0.5F}, {0, 0, 3, 0, 0, 0, 0});
    CHECK(x.arrived == std::vector<float>{0, -5, 5, 4, 0, 0, 0});
    CHECK(x.residual == std::vector<float>{1, 0, 0, 0, -4, 4, 0.5F});
}

TEST_CASE("compressed gradients: of what is not finite no number arrives, and what was left out stays") {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
        for (const compression c : ways) {
            CAPTURE(to_text(c));
            const sent x({c, 4, 4}, {1, bad, 3, 4}, {0.5F, 0.25F, 0, 1});
            bool lost = false;
            for (const float v : x.arrived) {
                lost = lost || !std::isfinite(v);
            }
            CHECK(lost);
            CHECK(x.residual == std::vector<float>{0.5F, 0.25F, 0, 1});
        }
    }
}

TEST_CASE("compressed gradients: what is far below a block's scale arrives in the long run") {
    for (const compression c : ways) {
        CAPTURE(to_text(c));
        const compression_setting how{c, 8, 8};
        std::vector<float> gradient(8, 0.0F);
        std::vector<float> residual(8, 0.0F);
        std::vector<float> sum(8, 0.0F);
        std::vector<std::int32_t> room(8);
        std::vector<std::byte> words(ts::to_size(4 * how.words(8)));
        const int steps = 4000;
        for (int step = 0; step < steps; ++step) {
            gradient[0] = step % 2 == 0 ? 1.0F : -1.0F;
            gradient[5] = 1e-3F; // less than half of 1 / 127
            ts::codes::compress(how, gradient.data(), residual.data(), 8, words.data(), room.data());
            ts::codes::add_decompressed(how, words.data(), sum.data(), 8);
        }
        CHECK(std::abs(sum[5] - 1e-3F * steps) < 1.01F);
        CHECK(std::abs(sum[0]) < 2);
    }
}
