// SPDX-License-Identifier: Apache-2.0
// Handles of the CUDA libraries that release themselves. Each belongs to the GPU that is current when it is made.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/error.hpp"
#include "tessera/base/box.hpp"

#include <cstddef>
#include <utility>

namespace tessera::cuda {

/// Owns a handle of type T that Destroy releases.
template <class T, auto Destroy>
class handle {
public:
    handle() = default;
    explicit handle(T value) : value_(value) {}
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;
    handle(handle&& other) noexcept : value_(std::exchange(other.value_, T{})) {}
    handle& operator=(handle&& other) noexcept {
        std::swap(value_, other.value_);
        return *this;
    }
    ~handle() {
        if (value_ != T{}) {
            (void)Destroy(value_); // a destructor has nobody to tell
        }
    }
    T get() const { return value_; }
    T release() { return std::exchange(value_, T{}); }

private:
    T value_{};
};

using stream_handle = handle<cudaStream_t, cudaStreamDestroy>;
using event_handle = handle<cudaEvent_t, cudaEventDestroy>;
using device_pointer = handle<void*, static_cast<cudaError_t (*)(void*)>(cudaFree)>;
using pinned_pointer = handle<void*, static_cast<cudaError_t (*)(void*)>(cudaFreeHost)>;
using graph_handle = handle<cudaGraph_t, cudaGraphDestroy>;
using graph_run_handle = handle<cudaGraphExec_t, cudaGraphExecDestroy>;
using library_handle = handle<cudaLibrary_t, cudaLibraryUnload>;
using cudnn_handle = handle<cudnnHandle_t, cudnnDestroy>;
using tensor_handle = handle<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;
using filter_handle = handle<cudnnFilterDescriptor_t, cudnnDestroyFilterDescriptor>;
using convolution_handle = handle<cudnnConvolutionDescriptor_t, cudnnDestroyConvolutionDescriptor>;
using pooling_handle = handle<cudnnPoolingDescriptor_t, cudnnDestroyPoolingDescriptor>;
using activation_handle = handle<cudnnActivationDescriptor_t, cudnnDestroyActivationDescriptor>;
using operation_handle = handle<cudnnOpTensorDescriptor_t, cudnnDestroyOpTensorDescriptor>;
using cublas_handle = handle<cublasLtHandle_t, cublasLtDestroy>;
using product_handle = handle<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using matrix_handle = handle<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using preference_handle = handle<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;
using communicator_handle = handle<ncclComm_t, ncclCommDestroy>;

inline stream_handle make_stream(bool urgent = false) {
    int least = 0;
    int greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    cudaStream_t s = nullptr;
    check(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, urgent ? greatest : least),
          "cudaStreamCreateWithPriority");
    return stream_handle(s);
}

/// An event that orders streams and measures no time.
inline event_handle make_event() {
    cudaEvent_t e = nullptr;
    check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    return event_handle(e);
}
inline event_handle make_timer() {
    cudaEvent_t e = nullptr;
    check(cudaEventCreate(&e), "cudaEventCreate");
    return event_handle(e);
}

/// Device memory, zeroed. Throws tessera::error when there is not as much.
inline device_pointer make_device_memory(index_t bytes) {
    void* p = nullptr;
    const auto size = static_cast<std::size_t>(bytes > 0 ? bytes : 1);
    const cudaError_t result = cudaMalloc(&p, size);
    if (result == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        throw error("tessera: the GPU has no memory for an arena of " + std::to_string(bytes) +
                    " bytes; use smaller batches or more devices");
    }
    check(result, "cudaMalloc");
    device_pointer owner(p);
    check(cudaMemset(p, 0, size), "cudaMemset");
    // Streams of ours do not wait for the default stream, on which the memory is zeroed.
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return owner;
}

inline pinned_pointer make_pinned_memory(index_t bytes) {
    void* p = nullptr;
    check(cudaMallocHost(&p, static_cast<std::size_t>(bytes > 0 ? bytes : 1)), "cudaMallocHost");
    return pinned_pointer(p);
}

/// From the processor's pageable memory to the GPU that is current, on a stream of that GPU; what comes next on any stream finds it there.
/// (cudaMemcpy may return before the GPU has all of it, and our streams do not wait for its own.)
inline void copy_to_gpu(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

inline cudnn_handle make_cudnn() {
    cudnnHandle_t h = nullptr;
    check(cudnnCreate(&h), "cudnnCreate");
    return cudnn_handle(h);
}

inline cublas_handle make_cublas() {
    cublasLtHandle_t h = nullptr;
    check(cublasLtCreate(&h), "cublasLtCreate");
    return cublas_handle(h);
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
