// SPDX-License-Identifier: Apache-2.0
// Bodies of cifar.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/data/cifar.hpp"

namespace tessera::io {

TESSERA_INLINE cifar_rows read_cifar(const std::string& path, const cifar_format& format, std::int64_t rows,
                                     std::string_view remedy) {
    constexpr std::size_t pixels = 3 * 32 * 32;
    if (format.classes.empty() || format.label >= format.classes.size())
        throw error("a CIFAR format has " + std::to_string(format.classes.size()) + " labels and takes label " +
                    std::to_string(format.label) + "; take one that there is");
    const std::size_t row_bytes = format.classes.size() + pixels;
    detail::byte_source source{path, remedy};
    cifar_rows all;
    std::vector<std::uint8_t> row(row_bytes);
    for (std::size_t number = 0;; ++number) {
        const std::size_t got = source.read(row.data(), row_bytes);
        const std::string where = "row " + std::to_string(number) + ", byte " + std::to_string(number * row_bytes);
        if (got == 0 && rows != 0 && static_cast<std::int64_t>(number) < rows)
            source.refuse("is cut short: it has " + std::to_string(number) + " rows; expected " + std::to_string(rows));
        if (got == 0 && number == 0) source.refuse("has no rows");
        if (got == 0) return all;
        if (rows != 0 && static_cast<std::int64_t>(number) == rows)
            source.refuse("goes on after its " + std::to_string(rows) + " rows, at byte " +
                          std::to_string(number * row_bytes));
        if (got != row_bytes)
            source.refuse("is cut short in " + where + ": it has " + std::to_string(got) + " of the row's " +
                          std::to_string(row_bytes) + " bytes");
        for (std::size_t k = 0; k < format.classes.size(); ++k) {
            if (row[k] >= format.classes[k])
                source.refuse("has the label " + std::to_string(row[k]) + " in " + where + "; expected 0 to " +
                              std::to_string(format.classes[k] - 1));
        }
        all.labels.push_back(row[format.label]);
        all.pixels.insert(all.pixels.end(), row.begin() + static_cast<std::ptrdiff_t>(format.classes.size()),
                          row.end());
    }
}

TESSERA_INLINE image_set images_of(cifar_rows rows, int classes, const channel_statistics& s) {
    std::vector<float> numbers(rows.pixels.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::size_t channel = i / 1024 % 3;
        numbers[i] = (static_cast<float>(rows.pixels[i]) / 255.0F - s.mean.at(channel)) / s.deviation.at(channel);
    }
    return {std::move(numbers), std::move(rows.labels), {3, 32, 32}, classes};
}

} // namespace tessera::io

namespace tessera::io::detail {

TESSERA_INLINE image_set cifar(const std::vector<std::string>& files, const std::string& folder,
                               const cifar_format& format, std::int64_t rows, const channel_statistics& statistics) {
    cifar_rows all;
    for (const std::string& file : files) {
        std::string path = folder;
        path += "/" + file;
        cifar_rows part =
            read_cifar(path, format, rows,
                       "hand in the folder of the binary version, from https://www.cs.toronto.edu/~kriz/cifar.html");
        all.pixels.insert(all.pixels.end(), part.pixels.begin(), part.pixels.end());
        all.labels.insert(all.labels.end(), part.labels.begin(), part.labels.end());
    }
    return images_of(std::move(all), format.classes[format.label], statistics);
}

TESSERA_INLINE void require_part(std::string_view name, std::string_view part) {
    if (part != "train" && part != "test") {
        std::string text(name);
        text += " has no part '";
        text += part;
        throw error(text + "'; ask for \"train\" or \"test\"");
    }
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE image_set cifar10(std::string_view part, const std::string& folder) {
    detail::require_part("CIFAR-10", part);
    std::vector<std::string> files{"test_batch.bin"};
    if (part == "train")
        files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"};
    return detail::cifar(files, folder, cifar10_format(), 10000, cifar10_statistics);
}

TESSERA_INLINE image_set cifar100(std::string_view part, const std::string& folder, bool coarse) {
    detail::require_part("CIFAR-100", part);
    return detail::cifar({part == "train" ? "train.bin" : "test.bin"}, folder,
                         coarse ? cifar100_coarse_format() : cifar100_format(), part == "train" ? 50000 : 10000,
                         cifar100_statistics);
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
