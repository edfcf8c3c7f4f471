// SPDX-License-Identifier: Apache-2.0
// Files of tensors (io/files/safetensors.hpp): what is written comes back, types of others are read, the format's rules
// are held, whatever is damaged is refused.
#include "tessera/io/files/safetensors.hpp"

#include "temporary_folder.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace {

namespace io = tessera::io;

/// A file of a header, as it is, and so many bytes.
void write_file(const std::string& path, const std::string& header, const std::string& bytes) {
    const std::uint64_t length = header.size();
    std::ofstream file{path, std::ios::binary};
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file << header << bytes;
}

std::string said_of(const std::string& path) {
    try {
        const io::safetensors_file file(path);
        for (const auto& [name, place] : file.tensors()) (void)file.numbers(name);
        return "accepted";
    } catch (const tessera::error& e) {
        return e.what();
    }
}

} // namespace

TEST_CASE("the checksum is zlib's, whatever the length, the place and what came before") {
    std::mt19937 random{1};
    for (int i = 0; i < 4000; ++i) {
        std::string text(random() % 700, '\0');
        for (char& c : text) c = static_cast<char>(random());
        const std::string_view part = std::string_view{text}.substr(text.empty() ? 0 : random() % text.size());
        const auto before = static_cast<std::uint32_t>(random() % 3 == 0 ? 0 : random());
        CHECK(io::detail::crc_of(part, before) ==
              ::crc32_z(before, reinterpret_cast<const unsigned char*>(part.data()), part.size()));
    }
    CHECK(io::detail::crc_of("123456789") == 0xcbf43926U); // the check value of CRC-32
}

TEST_CASE(
    "what is written comes back bit for bit, with its place in the whole tensor; the checksum is that of the file") {
    const test::temporary_folder folder;
    std::vector<float> numbers(100'000);
    std::mt19937 random{2};
    for (float& x : numbers) {
        const auto bits = static_cast<std::uint32_t>(random());
        std::memcpy(&x, &bits, sizeof x); // NaN and infinities too
    }
    const std::span<const float> all{numbers};
    const io::named_tensor tensors[] = {{"scalar", {}, all.first(1)},
                                        {"none", {0, 3}, {}},
                                        {"matrix", {500, 100}, all.subspan(1, 50'000)},
                                        {"box", {2, 3, 4}, all.subspan(7, 24), {10, 0, 4}}};
    const io::written_file written = io::write_safetensors(folder / "file", tensors);
    const std::string bytes = test::read_text(folder / "file");
    CHECK(written.bytes == static_cast<std::int64_t>(bytes.size()));
    CHECK(written.crc == io::detail::crc_of(bytes));
    CHECK(bytes.size() % 8 == 4); // the numbers begin at a multiple of 8, and are odd in number
    const io::safetensors_file file(folder / "file");
    REQUIRE(file.tensors().size() == 4);
    for (const io::named_tensor& t : tensors) {
        const std::vector<float> found = file.numbers(t.name);
        REQUIRE(found.size() == t.numbers.size());
        CHECK((found.empty() || std::memcmp(found.data(), t.numbers.data(), found.size() * sizeof(float)) == 0));
        CHECK(file.tensors().at(t.name).extents == t.extents);
    }
    CHECK(file.tensors().at("box").offsets == std::vector<std::int64_t>{10, 0, 4});
    CHECK(file.tensors().at("matrix").offsets == std::vector<std::int64_t>{0, 0});
    std::vector<float> part(30);
    file.read(file.tensors().at("matrix"), 4321, part);
    CHECK(std::memcmp(part.data(), numbers.data() + 4322, part.size() * sizeof(float)) == 0);
    const io::named_tensor twice[] = {tensors[0], tensors[0]};
    CHECK_THROWS_AS(io::write_safetensors(folder / "file", twice), tessera::error);
}

TEST_CASE("half and brain floats are read as what they are, all of them") {
    const test::temporary_folder folder;
    std::string bytes;
    for (unsigned i = 0; i < 65536; ++i) {
        const auto half = static_cast<std::uint16_t>(i);
        bytes.append(reinterpret_cast<const char*>(&half), sizeof half);
    }
    for (const char* type : {"F16", "BF16"}) {
        const bool brain = type[0] == 'B';
        write_file(folder / "file",
                   std::string(R"({"x":{"dtype":")") + type + R"(","shape":[65536],"data_offsets":[0,131072]}})",
                   bytes);
        const std::vector<float> found = io::safetensors_file(folder / "file").numbers("x");
        for (unsigned i = 0; i < 65536; ++i) {
            const int digits = brain ? 7 : 10;
            const int exponents = brain ? 255 : 31;
            const int exponent = static_cast<int>(i >> digits) & exponents;
            const auto fraction = static_cast<double>(i & ((1U << digits) - 1)) / static_cast<double>(1U << digits);
            const double size =
                std::ldexp(exponent == 0 ? fraction : 1 + fraction, std::max(exponent, 1) - exponents / 2);
            if (exponent == exponents) {
                CHECK((fraction != 0 ? std::isnan(found[i]) : std::isinf(found[i])));
            } else {
                CHECK(std::abs(static_cast<double>(found[i])) == size);
            }
            CHECK((std::isnan(found[i]) || std::signbit(found[i]) == (i >= 32768)));
        }
    }
}

TEST_CASE("files of others: any metadata, any order, integers that are not read; the format's rules are held") {
    const test::temporary_folder folder;
    const std::string path = folder / "file";
    const std::string numbers(24, '\0');
    const std::string metadata = R"({"__metadata__":{"format":"pt","made by":"somebody else"},)";
    write_file(path,
               metadata + R"("b":{"shape":[2],"dtype":"I64","data_offsets":[8,24]},)" +
                   R"("a":{"dtype":"F32","data_offsets":[0,8],"shape":[1,2,1]}}   )",
               numbers);
    const io::safetensors_file file(path);
    CHECK(file.tensors().at("a").extents == std::vector<std::int64_t>{1, 2, 1});
    CHECK(file.tensors().at("a").offsets == std::vector<std::int64_t>{0, 0, 0});
    CHECK(file.numbers("a") == std::vector<float>{0, 0});
    CHECK_THROWS_WITH_AS(file.numbers("b"), doctest::Contains("tensors of I64 are not read"), tessera::error);
    CHECK_THROWS_WITH_AS(file.numbers("c"), doctest::Contains("it has no tensor c"), tessera::error);
    const std::pair<const char*, const char*> refused[] = {
        {R"( {"a":{"dtype":"F32","shape":[6],"data_offsets":[0,24]}})", "does not begin with {"},
        {R"({"a":{"dtype":"F32","shape":[5],"data_offsets":[0,20]}})", "end at byte 20 of 24"},
        {R"({"a":{"dtype":"F32","shape":[5],"data_offsets":[4,24]}})", "leave a hole at byte 4"},
        {R"({"a":{"dtype":"F32","shape":[6],"data_offsets":[0,20]}})", "are 20 bytes, and the shape needs 24"},
        {R"({"a":{"dtype":"F32","shape":[6],"data_offsets":[0,28]}})", "data_offsets"},
        {R"({"a":{"dtype":"F32","shape":[6],"data_offsets":[24,0]}})", "data_offsets"},
        {R"({"a":{"dtype":"F32","shape":[6],"data_offsets":[0]}})", "needs 2"},
        {R"({"a":{"dtype":"C64","shape":[3],"data_offsets":[0,24]}})", "C64, a type that is not known"},
        {R"({"a":{"dtype":"F32","shape":[-6],"data_offsets":[0,24]}})", "shape"},
        {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,24]}})", "larger than anything"},
        {R"({"a":{"dtype":"F32","shape":[6],"data_offsets":[0,24],"more":1}})", "means nothing here"},
        {R"({"a":{"dtype":"F32","shape":[6],"data_offsets":[0,24]},"a":{"dtype":"F32","shape":[0],"data_offsets":[24,24]}})",
         "a"},
        {R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"b":{"dtype":"F32","shape":[4],"data_offsets":[8,24]}})",
         "overlap at byte 8"},
        {R"({"__metadata__":{"DCP_SHARDING_INFO":"{\"a\":{\"saved_offsets\":[0,1]}}"},"a":{"dtype":"F32","shape":[6],"data_offsets":[0,24]}})",
         "has 2 numbers, and the tensor has 1"},
        {R"({"__metadata__":{"DCP_SHARDING_INFO":"{\"a\":{\"saved_offsets\":[-1]}}"},"a":{"dtype":"F32","shape":[6],"data_offsets":[0,24]}})",
         "saved_offsets"},
        {R"({"__metadata__":{"DCP_SHARDING_INFO":"{\"b\":{\"saved_offsets\":[0]}}"},"a":{"dtype":"F32","shape":[6],"data_offsets":[0,24]}})",
         "a tensor that the file does not have"},
    };
    for (const auto& [header, words] : refused) {
        write_file(path, header, numbers);
        const std::string said = said_of(path);
        CHECK_MESSAGE(said.find(words) != std::string::npos, said);
        CHECK_MESSAGE(said.find(path) != std::string::npos, said);
    }
    std::ofstream{path, std::ios::binary} << "short";
    CHECK(said_of(path).find("it has 5 bytes") != std::string::npos);
    std::ofstream{path, std::ios::binary} << std::string(16, '\xff');
    CHECK(said_of(path).find("its header is to have") != std::string::npos);
}

TEST_CASE("files that are damaged at random are read or refused") {
    const test::temporary_folder folder;
    const std::vector<float> numbers(40, 1.5F);
    const std::span<const float> all{numbers};
    const io::named_tensor tensors[] = {{"first/weight", {4, 5}, all.first(20)},
                                        {"first/bias", {4}, all.first(4), {8}},
                                        {"second/weight", {2, 2, 4}, all.subspan(24)}};
    io::write_safetensors(folder / "whole", tensors);
    const std::string whole = test::read_text(folder / "whole");
    std::mt19937 random{3};
    int refused = 0;
    for (int i = 0; i < 4000; ++i) {
        std::string text = whole;
        for (auto k = 1 + random() % 3; k > 0 && !text.empty(); --k) {
            const std::size_t at = random() % std::min<std::size_t>(text.size(), random() % 4 == 0 ? 8 : text.size());
            switch (random() % 5) {
            case 0:
                text[at] = static_cast<char>(random());
                break;
            case 1:
                text.erase(at, 1 + random() % 9);
                break;
            case 2:
                text.insert(at, 1, "0129[]{},:\"-e"[random() % 13]);
                break;
            case 3:
                text.insert(at, text.substr(random() % text.size(), random() % 40));
                break;
            default:
                text.resize(at);
            }
        }
        std::ofstream{folder / "file", std::ios::binary} << text;
        refused += said_of(folder / "file") != "accepted" ? 1 : 0;
    }
    CHECK(refused > 2000);
    CHECK(refused < 4000); // numbers that change are numbers still: checksums are there for them
}
