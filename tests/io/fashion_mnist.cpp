// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/data/fashion_mnist.hpp"
#include "support/refusal.hpp"

#include "temporary_folder.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace {

using tessera::io::fashion_mnist;
using test_support::contains;

/// A folder with a part "test" of so many images of this shape and these labels.
void write_set(const test::temporary_folder& folder, std::uint8_t images, std::uint8_t height, std::uint8_t width,
               const std::vector<std::uint8_t>& labels) {
    std::vector<std::uint8_t> file{0, 0, 8, 3, 0, 0, 0, images, 0, 0, 0, height, 0, 0, 0, width};
    file.resize(file.size() + std::size_t{images} * height * width, 51);
    test::write_bytes(folder / "t10k-images-idx3-ubyte", file);
    std::vector<std::uint8_t> named{0, 0, 8, 1, 0, 0, 0, static_cast<std::uint8_t>(labels.size())};
    named.insert(named.end(), labels.begin(), labels.end());
    test::write_bytes(folder / "t10k-labels-idx1-ubyte", named);
}

std::string refusal(const test::temporary_folder& folder) {
    return test_support::message_of([&] { static_cast<void>(fashion_mnist("test", folder.path())); });
}

} // namespace

TEST_CASE("Fashion-MNIST is what its authors describe") {
    const auto train = fashion_mnist("train");
    const auto test = fashion_mnist("test");
    CHECK(train.size() == 60000);
    CHECK(test.size() == 10000);
    for (const auto* set : {&train, &test}) {
        CHECK(set->channels() == 1);
        CHECK(set->height() == 28);
        CHECK(set->width() == 28);
        CHECK(set->classes() == 10);
        REQUIRE(set->images().size() == tessera::to_size(set->size()) * 784);
        REQUIRE(set->labels().size() == tessera::to_size(set->size()));
        std::vector<std::int64_t> of_class(10);
        for (const std::int32_t label : set->labels()) ++of_class.at(tessera::to_size(label));
        CHECK(of_class == std::vector<std::int64_t>(10, set->size() / 10));
    }
    const std::vector<std::int32_t> first_train{9, 0, 0, 3, 0, 2, 7, 2, 5, 5, 0, 9};
    const std::vector<std::int32_t> first_test{9, 2, 1, 1, 6, 1, 4, 6, 5, 7, 4, 5};
    CHECK(std::vector<std::int32_t>(train.labels().begin(), train.labels().begin() + 12) == first_train);
    CHECK(std::vector<std::int32_t>(test.labels().begin(), test.labels().begin() + 12) == first_test);

    // Normalised to mean 0 and deviation 1, as far as the four digits of the constants go.
    double sum = 0;
    double squares = 0;
    for (const float pixel : train.images()) {
        sum += static_cast<double>(pixel);
        squares += static_cast<double>(pixel) * static_cast<double>(pixel);
    }
    const double mean = sum / 47'040'000;
    CHECK(std::abs(mean) < 0.0005);
    CHECK(std::abs(std::sqrt(squares / 47'040'000 - mean * mean) - 1) < 0.0005);
    // The corner of an image is black.
    CHECK(train.image(0)[0] == doctest::Approx(-0.2860 / 0.3530));
}

TEST_CASE("a set of one's own is read from plain files") {
    const test::temporary_folder folder;
    write_set(folder, 3, 28, 28, {9, 0, 4});
    const auto set = fashion_mnist("test", folder.path());
    CHECK(set.size() == 3);
    CHECK(set.labels()[2] == 4);
    CHECK(set.image(2)[783] == doctest::Approx((0.2 - 0.2860) / 0.3530));
    using tessera::io::pixel_values;
    CHECK(fashion_mnist("test", folder.path(), pixel_values::raw).image(2)[783] == 51.0F); // as the file has it
    CHECK(fashion_mnist("test", folder.path(), pixel_values::unit).image(2)[783] == doctest::Approx(0.2));
}

TEST_CASE("files that do not fit together are refused") {
    const test::temporary_folder folder;
    CHECK(contains(refusal(folder), "t10k-images-idx3-ubyte.gz' cannot be opened"));
    CHECK(contains(refusal(folder), "install the Debian package dataset-fashion-mnist"));
    write_set(folder, 3, 28, 28, {1, 2, 3});
    CHECK(refusal(folder) == "accepted");
    write_set(folder, 3, 28, 28, {1, 2});
    CHECK(contains(refusal(folder), "3 images but 2 labels for 'test'"));
    write_set(folder, 3, 28, 27, {1, 2, 3});
    CHECK(contains(refusal(folder), "images of 28x27 pixels; expected 28x28"));
    write_set(folder, 3, 28, 28, {1, 10, 3});
    CHECK(contains(refusal(folder), "label 1 is 10; expected 0 to 9"));
    CHECK_THROWS_WITH_AS(static_cast<void>(fashion_mnist("valid")),
                         "Fashion-MNIST has no part 'valid'; ask for \"train\" or \"test\"", tessera::error);
    CHECK_THROWS_AS(tessera::io::image_set({1, 2, 3}, {0}, {1, 2, 2}, 10), tessera::error);
}

TEST_CASE("the environment names the folder") {
    const char* before = std::getenv("TESSERA_DATA");
    const std::string kept = before != nullptr ? before : "";
    ::setenv("TESSERA_DATA", "/some/where", 1);
    CHECK(tessera::io::fashion_mnist_directory() == "/some/where");
    ::unsetenv("TESSERA_DATA");
    CHECK(tessera::io::fashion_mnist_directory() == "/usr/share/datasets/fashion-mnist");
    if (before != nullptr) ::setenv("TESSERA_DATA", kept.c_str(), 1);
}
