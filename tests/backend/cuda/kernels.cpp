// SPDX-License-Identifier: Apache-2.0
// The text of the kernels: NVRTC compiles it for every architecture that this toolkit and CUDA 12.8 have in common, without a GPU.
#include "tessera/backend/cuda/module.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace {
namespace cuda = tessera::cuda;
} // namespace

TEST_CASE("all kernels compile, and the binary has each of them") {
    for (const int capability : {80, 90}) {
        const std::vector<char>& binary = cuda::compiled_kernels(capability);
        CAPTURE(capability);
        CHECK(binary.size() > 10000);
        for (int k = 0; k < cuda::kernel_count; ++k) {
            const std::string entry = std::string(".text.") + to_text(static_cast<cuda::kernel_id>(k));
            CAPTURE(entry);
            CHECK(std::search(binary.begin(), binary.end(), entry.begin(), entry.end() + 1) != binary.end());
            const std::string other = entry + "_bf16";
            CHECK((std::search(binary.begin(), binary.end(), other.begin(), other.end() + 1) != binary.end()) ==
                  has_bf16(static_cast<cuda::kernel_id>(k)));
        }
        CHECK(&cuda::compiled_kernels(capability) == &binary); // once for a process
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
