// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/data/idx.hpp"

#include "temporary_folder.hpp"

#include <doctest/doctest.h>

namespace {

using bytes = std::vector<std::uint8_t>;

/// An IDX file of unsigned bytes with these extents, its elements 0, 1, 2, ...
bytes idx_file(const std::vector<std::uint32_t>& extents) {
    bytes file{0, 0, 8, static_cast<std::uint8_t>(extents.size())};
    std::uint32_t elements = 1;
    for (const std::uint32_t extent : extents) {
        for (const unsigned shift : {24U, 16U, 8U, 0U}) file.push_back(static_cast<std::uint8_t>(extent >> shift));
        elements *= extent;
    }
    for (std::uint32_t i = 0; i < elements; ++i) file.push_back(static_cast<std::uint8_t>(i));
    return file;
}

bytes gzipped(bytes plain) {
    z_stream stream{};
    REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    bytes result(plain.size() * 2 + 64);
    stream.next_in = plain.data();
    stream.avail_in = static_cast<uInt>(plain.size());
    stream.next_out = result.data();
    stream.avail_out = static_cast<uInt>(result.size());
    REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    result.resize(stream.total_out);
    deflateEnd(&stream);
    return result;
}

bytes operator+(bytes a, const bytes& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

/// What the reader says about a file, which must begin with the file's name and end with the remedy; empty if it
/// accepts it.
std::string refusal(const bytes& file, int rank) {
    const test::temporary_folder folder;
    const std::string path = folder / "file";
    test::write_bytes(path, file);
    try {
        static_cast<void>(tessera::io::read_idx(path, rank, "do this"));
    } catch (const tessera::error& problem) {
        const std::string text = problem.what();
        const std::string end = "; do this";
        CHECK(text.rfind("'" + path + "' ", 0) == 0);
        REQUIRE(text.size() > end.size());
        CHECK(text.substr(text.size() - end.size()) == end);
        return text.substr(path.size() + 3, text.size() - path.size() - 3 - end.size());
    }
    return "";
}

} // namespace

TEST_CASE("an IDX file is read plain, compressed, and compressed in several members") {
    const bytes plain = idx_file({5, 7, 11});
    const bytes half(plain.begin(), plain.begin() + 100);
    const bytes other(plain.begin() + 100, plain.end());
    const test::temporary_folder folder;
    for (const bytes& file : {plain, gzipped(plain), gzipped(half) + gzipped(other)}) {
        test::write_bytes(folder / "images", file);
        const auto read = tessera::io::read_idx(folder / "images", 3);
        CHECK(read.extents == std::vector<std::int64_t>{5, 7, 11});
        REQUIRE(read.elements.size() == 385);
        CHECK(read.elements == bytes(plain.begin() + 16, plain.end()));
    }
}

TEST_CASE("a file larger than the reader's buffers is read whole") {
    const bytes plain = idx_file({3'000'001});
    const test::temporary_folder folder;
    for (const bytes& file : {plain, gzipped(plain)}) {
        test::write_bytes(folder / "labels", file);
        CHECK(tessera::io::read_idx(folder / "labels", 1).elements == bytes(plain.begin() + 8, plain.end()));
    }
}

TEST_CASE("every defect of an IDX file is refused by its name") {
    const bytes labels = idx_file({300});
    const auto with = [&](std::size_t at, std::uint8_t value) {
        bytes file = labels;
        file[at] = value;
        return file;
    };
    const auto cut = [](bytes file, std::size_t by) {
        file.resize(file.size() - by);
        return file;
    };
    CHECK(refusal(labels, 1) == "");
    CHECK(refusal({}, 1) == "is cut short: it has no IDX header");
    CHECK(refusal({0, 0, 8}, 1) == "is cut short: it has no IDX header");
    CHECK(refusal({0, 0, 8, 1, 0, 0}, 1) == "is cut short in its IDX header");
    CHECK(refusal(with(0, 60), 1) == "is not an IDX file: it must start with two zero bytes, not with 60 and 0");
    CHECK(refusal(with(1, 3), 1) == "is not an IDX file: it must start with two zero bytes, not with 0 and 3");
    CHECK(refusal(with(2, 13), 1) == "has elements of IDX type 13; expected unsigned bytes, type 8");
    CHECK(refusal(with(3, 2), 1) == "has 2 dimensions; expected 1, as labels have");
    CHECK(refusal(labels, 3) == "has 1 dimensions; expected 3, as images have");
    CHECK(refusal(idx_file({0}), 1) == "has dimension 0 of extent 0; expected at least 1");
    CHECK(refusal(idx_file({2, 2, 0}), 3) == "has dimension 2 of extent 0; expected at least 1");
    CHECK(refusal(cut(labels, 1), 1) == "is cut short: it has 299 elements; its header promises 300");
    CHECK(refusal(labels + bytes{0}, 1) == "goes on after the 300 elements that its header promises");
}

TEST_CASE("sizes that are not believable are refused before memory is taken") {
    const bytes huge{0, 0, 8, 1, 0xff, 0xff, 0xff, 0xff, 1};
    CHECK(refusal(huge, 1).rfind("has dimension 0 of extent 4294967295, which makes more than", 0) == 0);
    // The product overflows 64 bits.
    const bytes product{0, 0, 8, 3, 0x3f, 0xff, 0xff, 0xff, 0x3f, 0xff, 0xff, 0xff, 0x3f, 0xff, 0xff, 0xff};
    CHECK(refusal(product, 3).rfind("has dimension 1 of extent 1073741823, which makes more than", 0) == 0);
    const bytes promised{0, 0, 8, 1, 0x40, 0, 0, 0, 1};
    CHECK(refusal(promised, 1) == "is cut short: it has 1 elements; its header promises 1073741824");
}

TEST_CASE("damaged compression is refused") {
    const bytes plain = idx_file({5000});
    const bytes good = gzipped(plain);
    CHECK(refusal(good, 1) == "");
    for (std::size_t kept = 2; kept < good.size(); ++kept)
        CHECK(refusal({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(kept)}, 1) ==
              "is cut short: its compressed data does not end");
    bytes checksum = good;
    checksum[good.size() - 6] ^= 1U;
    CHECK(refusal(checksum, 1) == "is damaged: incorrect data check");
    bytes length = good;
    length[good.size() - 1] ^= 1U;
    CHECK(refusal(length, 1) == "is damaged: incorrect length check");
    CHECK(refusal(good + bytes{'x'}, 1) != "");
    CHECK(refusal(good + bytes{'j', 'u', 'n', 'k'}, 1) == "is damaged: incorrect header check");
    CHECK(refusal(gzipped(plain + bytes{0}), 1) == "goes on after the 5000 elements that its header promises");
    CHECK(refusal(good + gzipped({1}), 1) == "goes on after the 5000 elements that its header promises");
    CHECK(refusal(gzipped({0, 0, 8}), 1) == "is cut short: it has no IDX header");
    // No change of one byte goes unnoticed or reads other elements. Bytes 4 to 9 of the header mean nothing to the
    // contents.
    for (std::size_t at = 0; at < good.size(); ++at) {
        if (at >= 4 && at < 10) continue;
        bytes changed = good;
        changed[at] ^= 0x15U;
        CHECK(refusal(changed, 1) != "");
    }
}

TEST_CASE("what is not there or not a file is refused") {
    const test::temporary_folder folder;
    CHECK_THROWS_WITH_AS(static_cast<void>(tessera::io::read_idx(folder / "none", 1, "get it")),
                         ("'" + folder / "none" + "' cannot be opened: No such file or directory; get it").c_str(),
                         tessera::error);
    CHECK_THROWS_WITH_AS(static_cast<void>(tessera::io::read_idx(folder.path(), 1, "get it")),
                         ("'" + folder.path() + "' is not a regular file; get it").c_str(), tessera::error);
    CHECK_THROWS_AS(static_cast<void>(tessera::io::read_idx(folder / "none", 2)), tessera::error);
}
