// SPDX-License-Identifier: Apache-2.0
// Bodies of guards.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/guards.hpp"

namespace tessera::cuda {

TESSERA_INLINE current_gpu::current_gpu(int gpu) {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    if (gpu != before_) {
        check(cudaSetDevice(gpu), "cudaSetDevice");
    }
    changed_ = gpu != before_;
}

TESSERA_INLINE current_gpu::~current_gpu() {
    if (changed_) {
        (void)cudaSetDevice(before_);
    }
}

TESSERA_INLINE void check_begun(ncclResult_t result, const char* function) {
    if (result != ncclInProgress) {
        check(result, function);
    }
}

TESSERA_INLINE nccl_group::~nccl_group() {
    if (open_) {
        (void)ncclGroupEnd(); // it is another error that is being told
    }
}

TESSERA_INLINE void nccl_group::end() {
    open_ = false;
    check_begun(ncclGroupEnd(), "ncclGroupEnd");
}

TESSERA_INLINE stream_capture::stream_capture(cudaStream_t s) : stream_(s) {
    check(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
}

TESSERA_INLINE stream_capture::~stream_capture() {
    if (open_) {
        cudaGraph_t unfinished = nullptr;
        (void)cudaStreamEndCapture(stream_, &unfinished); // it is another error that is being told
        (void)cudaGetLastError();
        const graph_handle owner(unfinished);
    }
}

TESSERA_INLINE graph_handle stream_capture::end() {
    open_ = false;
    cudaGraph_t made = nullptr;
    check(cudaStreamEndCapture(stream_, &made), "cudaStreamEndCapture");
    return graph_handle(made);
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
