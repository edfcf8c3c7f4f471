// SPDX-License-Identifier: Apache-2.0
// Initial values that layers ask for: their distributions, and that they are functions of seed, parameter and index.
#include "tessera/execute/local/initialize.hpp"
#include "tessera/net/describe.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

namespace ts = tessera;
namespace initial = ts::initial;

/// A linear layer of 60 inputs and 40 outputs, whose weights are drawn as What says.
template <class What>
struct drawn : ts::linear<40, ts::initial_weights<What>> {};
template <class What>
struct net : ts::sequential<ts::features<60>, drawn<What>, ts::cross_entropy> {};

template <class Net>
std::vector<float> values_of(int parameter = 0, std::uint64_t seed = 3) {
    const ts::graph g = ts::describe<Net>(2);
    std::vector<float> x(ts::to_size(g.parameters[ts::to_size(parameter)].extents.volume()));
    ts::initialize(g.view(), parameter, seed, x);
    return x;
}

double mean(const std::vector<float>& x) {
    double sum = 0;
    for (const float v : x) {
        sum += static_cast<double>(v);
    }
    return sum / static_cast<double>(x.size());
}
double deviation(const std::vector<float>& x) {
    double sum = 0;
    for (const float v : x) {
        sum += static_cast<double>(v) * static_cast<double>(v);
    }
    return std::sqrt(sum / static_cast<double>(x.size()));
}
double largest(const std::vector<float>& x) {
    double most = 0;
    for (const float v : x) {
        most = std::max(most, std::abs(static_cast<double>(v)));
    }
    return most;
}

/// The largest distance between the numbers' distribution and the one given (Kolmogorov and Smirnov).
template <class Below>
double distance(std::vector<float> x, Below&& below) {
    std::sort(x.begin(), x.end());
    double most = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double expected = below(static_cast<double>(x[i]));
        const auto n = static_cast<double>(x.size());
        most = std::max({most, std::abs(expected - static_cast<double>(i) / n),
                         std::abs(expected - static_cast<double>(i + 1) / n)});
    }
    return most;
}
double normal_below(double x) { return (1 + std::erf(x / std::sqrt(2.0))) / 2; }

// Of 2,400 numbers the distance is above this once in a thousand times (1.95 / sqrt(n)).
constexpr double most_distance = 0.04;

template <class What>
void hold_uniform(double limit) {
    const std::vector<float> x = values_of<net<What>>();
    CHECK(largest(x) <= limit);
    CHECK(largest(x) > 0.99 * limit);
    CHECK(distance(x, [&](double v) { return (v / limit + 1) / 2; }) < most_distance);
}
template <class What>
void hold_normal(double sigma) {
    const std::vector<float> x = values_of<net<What>>();
    CHECK(std::abs(mean(x)) < 0.1 * sigma);
    CHECK(distance(x, [&](double v) { return normal_below(v / sigma); }) < most_distance);
}

} // namespace

TEST_CASE("the distributions are those of the papers, with PyTorch's fans") {
    hold_uniform<initial::kaiming_uniform>(std::sqrt(6.0 / 60));
    hold_uniform<initial::xavier_uniform>(std::sqrt(6.0 / (60 + 40)));
    hold_uniform<initial::uniform_within<1, 5>>(0.2);
    hold_normal<initial::kaiming_normal>(std::sqrt(2.0 / 60));
    hold_normal<initial::xavier_normal>(std::sqrt(2.0 / (60 + 40)));
    hold_normal<initial::normal<1, 50>>(0.02);
    const std::vector<float> cut = values_of<net<initial::truncated_normal<1, 50>>>();
    CHECK(largest(cut) <= 0.04);
    CHECK(largest(cut) > 0.038);
    const double inside = normal_below(2) - normal_below(-2);
    CHECK(distance(cut, [&](double v) { return (normal_below(v / 0.02) - normal_below(-2)) / inside; }) <
          most_distance);
    CHECK(deviation(cut) == doctest::Approx(0.0176).epsilon(0.05)); // 0.8796 of the normal distribution's
    CHECK(values_of<net<initial::constant<-1, 8>>>() == std::vector<float>(2400, -0.125F));
    CHECK(values_of<net<initial::zeros>>() == std::vector<float>(2400, 0.0F));
}

TEST_CASE("the fans of convolutions, and of experts' matrices") {
    struct conv
        : ts::conv2d<8, ts::window<3>, ts::padding<1>, ts::groups<2>, ts::initial_weights<initial::xavier_uniform>> {};
    using image = ts::sequential<ts::image<4, 5, 5>, conv, ts::cross_entropy>;
    const std::vector<float> x =
        values_of<image>(); // [8, 2, 3, 3]: fan_in 2 * 9, fan_out 8 * 9, as PyTorch counts them
    const double limit = std::sqrt(6.0 / (18 + 72));
    CHECK(largest(x) <= limit);
    CHECK(largest(x) > 0.95 * limit);
}

TEST_CASE("orthogonal: rows, or columns where they are fewer, of the length asked for") {
    const std::vector<float> x = values_of<net<initial::orthogonal<3, 2>>>(); // 40 rows of 60
    struct tall_layer : ts::linear<70, ts::initial_weights<initial::orthogonal<>>> {};
    const std::vector<float> tall = values_of<ts::sequential<ts::features<30>, tall_layer, ts::cross_entropy>>();
    const auto product = [](const std::vector<float>& m, std::size_t a, std::size_t b, std::size_t step,
                            std::size_t stride, std::size_t count) {
        double sum = 0;
        for (std::size_t k = 0; k < count; ++k) {
            sum += static_cast<double>(m[a * step + k * stride]) * static_cast<double>(m[b * step + k * stride]);
        }
        return sum;
    };
    for (std::size_t a = 0; a < 30; ++a) {
        for (std::size_t b = 0; b <= a; ++b) {
            CHECK(std::abs(product(x, a, b, 60, 1, 60) - (a == b ? 2.25 : 0.0)) < 1e-6);
            CHECK(std::abs(product(tall, a, b, 1, 30, 70) - (a == b ? 1.0 : 0.0)) < 1e-6);
        }
    }
}

TEST_CASE("biases and gammas hold what their layer says; what it does not say stays as usual") {
    struct layer : ts::linear<40, ts::initial_bias<initial::constant<1, 4>>> {};
    struct norm : ts::layer_norm<ts::initial_weights<initial::zeros>> {};
    using both = ts::sequential<ts::features<60>, layer, norm, ts::cross_entropy>;
    CHECK(values_of<both>(1) == std::vector<float>(40, 0.25F));
    CHECK(values_of<both>(2) == std::vector<float>(40, 0.0F)); // gamma
    CHECK(largest(values_of<both>(0)) <= 1 / std::sqrt(60.0));
}

TEST_CASE("values are functions of seed, parameter and index") {
    struct first : ts::linear<40> {};
    struct last : ts::linear<40> {};
    using net_of_two = ts::sequential<ts::features<40>, first, last, ts::cross_entropy>;
    CHECK(values_of<net_of_two>(0) == values_of<net_of_two>(0));
    CHECK(values_of<net_of_two>(0) != values_of<net_of_two>(0, 4));
    CHECK(values_of<net_of_two>(2) != values_of<net_of_two>(0));
}

TEST_CASE("a layer has the same values in every network in which it has the same path, and others beside it") {
    struct first : ts::linear<60> {};
    struct own : ts::linear<40> {};
    struct again : ts::linear<40> {};
    using alone = ts::sequential<ts::features<60>, own, ts::cross_entropy>;
    using behind = ts::sequential<ts::features<60>, first, ts::relu, own, ts::relu, again, ts::cross_entropy>;
    CHECK(values_of<alone>(0) == values_of<behind>(2));
    CHECK(values_of<alone>(1) == values_of<behind>(3));
    CHECK(values_of<behind>(1) != values_of<behind>(3));
    const std::vector<float> other = values_of<behind>(4); // of another path, with fewer inputs
    CHECK(!std::equal(other.begin(), other.end(), values_of<alone>(0).begin()));
    CHECK(values_of<alone>(0, 3) != values_of<behind>(2, 4));
    // Numbers of a path and a seed are what they were, on every compiler.
    CHECK(ts::detail::key_of_path(3, "own/weight") != ts::detail::key_of_path(3, "own/bias"));
}
