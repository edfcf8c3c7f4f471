// SPDX-License-Identifier: Apache-2.0
// Bodies of handles.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/handles.hpp"

namespace tessera::cuda {

TESSERA_INLINE stream_handle make_stream(bool urgent) {
    int least = 0;
    int greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    cudaStream_t s = nullptr;
    check(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, urgent ? greatest : least),
          "cudaStreamCreateWithPriority");
    return stream_handle(s);
}

TESSERA_INLINE event_handle make_event() {
    cudaEvent_t e = nullptr;
    check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    return event_handle(e);
}

TESSERA_INLINE event_handle make_timer() {
    cudaEvent_t e = nullptr;
    check(cudaEventCreate(&e), "cudaEventCreate");
    return event_handle(e);
}

TESSERA_INLINE device_pointer make_device_memory(index_t bytes) {
    void* p = nullptr;
    const auto size = to_size(bytes > 0 ? bytes : 1);
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

TESSERA_INLINE pinned_pointer make_pinned_memory(index_t bytes) {
    void* p = nullptr;
    check(cudaMallocHost(&p, to_size(bytes > 0 ? bytes : 1)), "cudaMallocHost");
    return pinned_pointer(p);
}

TESSERA_INLINE void copy_to_gpu(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

TESSERA_INLINE cudnn_handle make_cudnn() {
    cudnnHandle_t h = nullptr;
    check(cudnnCreate(&h), "cudnnCreate");
    return cudnn_handle(h);
}

TESSERA_INLINE cublas_handle make_cublas() {
    cublasLtHandle_t h = nullptr;
    check(cublasLtCreate(&h), "cublasLtCreate");
    return cublas_handle(h);
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
