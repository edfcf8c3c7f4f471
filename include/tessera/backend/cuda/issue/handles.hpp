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

stream_handle make_stream(bool urgent = false);

/// An event that orders streams and measures no time.
event_handle make_event();
event_handle make_timer();

/// Device memory, zeroed. Throws tessera::error when there is not as much.
device_pointer make_device_memory(index_t bytes);

pinned_pointer make_pinned_memory(index_t bytes);

/// From the processor's pageable memory to the GPU that is current, on a stream of that GPU; what comes next on any
/// stream finds it there. (cudaMemcpy may return before the GPU has all of it, and our streams do not wait for its
/// own.)
void copy_to_gpu(void* to, const void* from, std::size_t bytes, cudaStream_t stream);

cudnn_handle make_cudnn();

cublas_handle make_cublas();

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/issue/handles.inl"
#endif

#include "tessera/base/end_header.inl"
