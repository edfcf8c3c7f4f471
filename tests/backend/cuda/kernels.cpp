// SPDX-License-Identifier: Apache-2.0
// The text of the kernels: NVRTC compiles it for every architecture that this toolkit and CUDA 12.8 have in common, without a GPU.
#include "support/cuda_emulation.hpp"

#include "tessera/backend/cuda/module.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <string>
#include <string_view>

namespace {

namespace cuda = tessera::cuda;

/// The instructions of every kernel in a binary, which is an ELF file: its sections .text.NAME.
std::map<std::string, std::string_view> kernels_in(const std::vector<char>& binary) {
    const auto number = [&](std::size_t at, std::size_t bytes) {
        REQUIRE(at + bytes <= binary.size());
        std::uint64_t x = 0;
        std::memcpy(&x, binary.data() + at, bytes);
        return static_cast<std::size_t>(x);
    };
    const std::size_t sections = number(40, 8);
    const std::size_t size = number(58, 2);
    const std::size_t names = number(sections + number(62, 2) * size + 24, 8);
    std::map<std::string, std::string_view> found;
    for (std::size_t i = 0; i < number(60, 2); ++i) {
        const std::size_t section = sections + i * size;
        const std::string name = binary.data() + names + number(section, 4);
        if (name.starts_with(".text.")) {
            found[name.substr(6)] = {binary.data() + number(section + 24, 8), number(section + 32, 8)};
        }
    }
    return found;
}

} // namespace

TEST_CASE("all kernels compile, and the binary has each of them") {
    for (const int capability : {80, 90}) {
        const std::vector<char>& binary = cuda::compiled_kernels(capability);
        CAPTURE(capability);
        CHECK(binary.size() > 10000);
        std::vector<std::string> found;
        for (const auto& [name, code] : kernels_in(binary)) {
            found.push_back(name);
        }
        CHECK(found == cuda_emulation::names()); // those that tests run, no more and no fewer
        CHECK(found.size() > 60);
        CHECK(&cuda::compiled_kernels(capability) == &binary); // once for a process
    }
}

TEST_CASE("the kernels of an operator leave those of others as they are") {
    const auto all = kernels_in(cuda::compiled_kernels(90));
    const std::vector<char> binary = cuda::compile_kernels(90, cuda::kernel_source(&cuda::layer_norm_row));
    const auto others = kernels_in(binary);
    CHECK(others.size() + 8 == all.size());
    for (const auto& other : others) {
        CAPTURE(other.first);
        CHECK(all.at(other.first) == other.second);
    }
}

TEST_CASE("an architecture that does not exist is an error with the compiler's words") {
    try {
        cuda::compile_kernels(12);
        FAIL("compiled");
    } catch (const tessera::error& e) {
        CHECK(std::string(e.what()).find("sm_12") != std::string::npos);
        CHECK(std::string(e.what()).find("NVRTC_ERROR_INVALID_OPTION") != std::string::npos);
    }
}
