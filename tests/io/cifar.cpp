// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/data/cifar.hpp"

#include "temporary_folder.hpp"

#include <doctest/doctest.h>

#include <random>

namespace {

using namespace tessera::io;
using bytes = std::vector<std::uint8_t>;

bytes rows_of(const cifar_format& format, std::size_t rows, std::mt19937& random) {
    bytes file;
    for (std::size_t r = 0; r < rows; ++r) {
        for (const int classes : format.classes)
            file.push_back(static_cast<std::uint8_t>(random() % static_cast<unsigned>(classes)));
        for (int i = 0; i < 3072; ++i) file.push_back(static_cast<std::uint8_t>(random()));
    }
    return file;
}

std::string refusal(const bytes& file, const cifar_format& format, std::int64_t rows = 0) {
    const test::temporary_folder folder;
    test::write_bytes(folder / "file", file);
    try {
        static_cast<void>(read_cifar(folder / "file", format, rows, "do this"));
    } catch (const tessera::error& problem) {
        const std::string text = problem.what();
        CHECK(text.rfind("'" + folder / "file" + "' ", 0) == 0);
        CHECK(text.substr(text.size() - 9) == "; do this");
        return text.substr((folder / "file").size() + 3, text.size() - (folder / "file").size() - 12);
    }
    return "";
}

void write_zeros(const std::string& path, std::size_t rows, std::size_t row_bytes, std::uint8_t last) {
    gzFile file = ::gzopen(path.c_str(), "wb1");
    REQUIRE(file != nullptr);
    bytes row(row_bytes, 0);
    for (std::size_t r = 0; r < rows; ++r) {
        if (r + 1 == rows) row.back() = last;
        REQUIRE(::gzwrite(file, row.data(), static_cast<unsigned>(row.size())) == static_cast<int>(row.size()));
    }
    ::gzclose(file);
}

} // namespace

TEST_CASE("rows of CIFAR are read byte for byte, with the label that is asked for") {
    std::mt19937 random(1);
    for (const cifar_format& format : {cifar10_format(), cifar100_format(), cifar100_coarse_format()}) {
        const bytes file = rows_of(format, 1 + random() % 5, random);
        const test::temporary_folder folder;
        test::write_bytes(folder / "rows", file);
        const cifar_rows read = read_cifar(folder / "rows", format);
        const std::size_t row = format.classes.size() + 3072;
        REQUIRE(read.labels.size() == file.size() / row);
        const image_set images = images_of(read, format.classes[format.label], cifar10_statistics);
        for (std::size_t r = 0; r < read.labels.size(); ++r) {
            CHECK(read.labels[r] == file[r * row + format.label]);
            for (const std::size_t i : {std::size_t{0}, std::size_t{1023}, std::size_t{1024}, std::size_t{3071}}) {
                const std::uint8_t pixel = file[r * row + format.classes.size() + i];
                CHECK(read.pixels[r * 3072 + i] == pixel);
                const std::size_t channel = i / 1024;
                CHECK(images.image(static_cast<std::int64_t>(r))[i] ==
                      (static_cast<float>(pixel) / 255.0F - cifar10_statistics.mean.at(channel)) /
                          cifar10_statistics.deviation.at(channel));
            }
        }
    }
}

TEST_CASE("any cut of a file, anything after it and any label that is none is refused") {
    std::mt19937 random(2);
    const bytes two = rows_of(cifar10_format(), 2, random);
    CHECK(refusal({}, cifar10_format()) == "has no rows");
    for (int round = 0; round < 40; ++round) {
        const auto kept = static_cast<std::size_t>(1 + random() % (two.size() - 1));
        const bytes cut(two.begin(), two.begin() + static_cast<std::ptrdiff_t>(kept));
        const std::string row = std::to_string(kept / 3073);
        const std::string wanted = kept == 3073
                                       ? "is cut short: it has 1 rows; expected 2"
                                       : "is cut short in row " + row + ", byte " + std::to_string(kept / 3073 * 3073) +
                                             ": it has " + std::to_string(kept % 3073) + " of the row's 3073 bytes";
        CHECK(refusal(cut, cifar10_format(), 2) == wanted);
    }
    CHECK(refusal(two, cifar10_format(), 1) == "goes on after its 1 rows, at byte 3073");
    CHECK(refusal(two, cifar10_format(), 3) == "is cut short: it has 2 rows; expected 3");
    bytes label = two;
    label[3073] = 10;
    CHECK(refusal(label, cifar10_format()) == "has the label 10 in row 1, byte 3073; expected 0 to 9");
    bytes fine = rows_of(cifar100_format(), 1, random);
    fine[1] = 100;
    CHECK(refusal(fine, cifar100_coarse_format()) == "has the label 100 in row 0, byte 0; expected 0 to 99");
    CHECK_THROWS_AS(static_cast<void>(read_cifar("none", cifar10_format())), tessera::error);
    CHECK_THROWS_AS(static_cast<void>(read_cifar("none", {{10}, 1})), tessera::error);
}

TEST_CASE("the whole sets are made of their files, each of its number of rows") {
    const test::temporary_folder folder;
    write_zeros(folder / "test_batch.bin", 10000, 3073, 255);
    const image_set ten = cifar10("test", folder.path());
    CHECK(ten.size() == 10000);
    CHECK(ten.classes() == 10);
    CHECK(ten.image(9999)[3071] == (1.0F - 0.4465F) / 0.2616F);
    CHECK_THROWS_AS(static_cast<void>(cifar10("train", folder.path())), tessera::error); // no data_batch_1.bin
    CHECK_THROWS_AS(static_cast<void>(cifar10("all", folder.path())), tessera::error);
    write_zeros(folder / "test.bin", 9999, 3074, 0);
    CHECK_THROWS_AS(static_cast<void>(cifar100("test", folder.path())), tessera::error);
    write_zeros(folder / "test.bin", 10000, 3074, 0);
    CHECK(cifar100("test", folder.path()).classes() == 100);
}
