// SPDX-License-Identifier: Apache-2.0
// Errors of every library as tessera::error, and what a machine without a GPU is told.
#include "tessera/backend/cuda/backend.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace {

namespace cuda = tessera::cuda;

template <class Do>
std::string message_of(Do what) {
    try {
        what();
    } catch (const tessera::error& e) {
        return e.what();
    }
    return "nothing thrown";
}

} // namespace

TEST_CASE("an error names the function, the code and the library's text") {
    CHECK(message_of([] { cuda::check(cudaErrorInvalidValue, "cudaMalloc"); }) ==
          "tessera: cudaMalloc failed with error 1: invalid argument");
    CHECK(message_of([] { cuda::check(CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmul"); }) ==
          "tessera: cublasLtMatmul failed with error 15: the requested functionality is not supported");
    CHECK(message_of([] { cuda::check(CUDNN_STATUS_BAD_PARAM, "cudnnAddTensor"); }) ==
          "tessera: cudnnAddTensor failed with error 2000: CUDNN_STATUS_BAD_PARAM");
    CHECK(message_of([] {
              cuda::check(ncclInvalidUsage, "ncclSend");
          }).find("tessera: ncclSend failed with error 5: ") == 0);
    CHECK(message_of([] { cuda::check(NVRTC_ERROR_COMPILATION, "nvrtcCompileProgram"); }) ==
          "tessera: nvrtcCompileProgram failed with error 6: NVRTC_ERROR_COMPILATION");
    CHECK(message_of([] { cuda::check(cudaSuccess, "cudaMalloc"); }) == "nothing thrown");
    try {
        cuda::check(cudaErrorInvalidDevice, "cudaSetDevice");
    } catch (const cuda::api_error& e) {
        CHECK(e.code == cudaErrorInvalidDevice);
    }
}

TEST_CASE("descriptors that make no sense are errors of their own") {
    const int negative[4] = {1, -1, 2, 2};
    CHECK(message_of([&] { cuda::describe_tensor(negative); }).find("cudnnSetTensorNdDescriptor failed with error") !=
          std::string::npos);
    cuda::pooling p;
    p.window[0] = 0;
    CHECK(message_of([&] { cuda::describe_pooling(p); }).find("cudnnSetPoolingNdDescriptor") != std::string::npos);
    CHECK(message_of([] { cuda::to_int(tessera::index_t{1} << 40); }).find("more than cuDNN takes") !=
          std::string::npos);
}

TEST_CASE("a machine without a GPU gets one clear error, and nothing else fails before it") {
    const cuda::machine_check found = cuda::find_devices();
    if (found) {
        CHECK(found.reason.empty());
        CHECK(cuda::require_devices() == found.devices);
        CHECK(message_of([&] { cuda::backend({}, {.gpus = {found.devices}}); }).find("numbered from 0") !=
              std::string::npos);
        return;
    }
    CHECK(found.devices == 0);
    CHECK(!found.reason.empty());
    const std::string text = message_of([] { cuda::backend(); });
    CHECK(text == "tessera: the CUDA backend has no GPU to run on: " + found.reason +
                      "; install a driver or use the host backend (tessera/host.hpp)");
    MESSAGE(text);
}

TEST_CASE("handles release what they own once") {
    cudnnTensorDescriptor_t d = nullptr;
    cuda::check(cudnnCreateTensorDescriptor(&d), "cudnnCreateTensorDescriptor");
    cuda::tensor_handle a(d);
    cuda::tensor_handle b(std::move(a));
    CHECK(a.get() == nullptr);
    CHECK(b.get() == d);
    a = std::move(b);
    CHECK(a.get() == d);
    CHECK(b.get() == nullptr);
    cuda::tensor_handle c(a.release());
    CHECK(a.get() == nullptr);
    CHECK(c.get() == d);
}
