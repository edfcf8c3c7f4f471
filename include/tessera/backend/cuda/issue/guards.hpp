// SPDX-License-Identifier: Apache-2.0
// What must end as it began, whatever is thrown meanwhile: the current GPU, a group of NCCL's calls, the capture of a stream.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/handles.hpp"

namespace tessera::cuda {

/// Makes a GPU current for a while.
class current_gpu {
public:
    explicit current_gpu(int gpu) {
        check(cudaGetDevice(&before_), "cudaGetDevice");
        if (gpu != before_) {
            check(cudaSetDevice(gpu), "cudaSetDevice");
        }
        changed_ = gpu != before_;
    }
    current_gpu(const current_gpu&) = delete;
    current_gpu& operator=(const current_gpu&) = delete;
    ~current_gpu() {
        if (changed_) {
            (void)cudaSetDevice(before_);
        }
    }

private:
    int before_ = 0;
    bool changed_ = false;
};

/// Of a call to a communicator that does not block: that it has succeeded, or is under way.
inline void check_begun(ncclResult_t result, const char* function) {
    if (result != ncclInProgress) {
        check(result, function);
    }
}

/// A group of NCCL's calls of this thread. One that is left open would swallow all that comes after it, ncclCommAbort too.
class nccl_group {
public:
    nccl_group() { check(ncclGroupStart(), "ncclGroupStart"); }
    nccl_group(const nccl_group&) = delete;
    nccl_group& operator=(const nccl_group&) = delete;
    ~nccl_group() {
        if (open_) {
            (void)ncclGroupEnd(); // it is another error that is being told
        }
    }
    /// Sends the calls on their way. Communicators that do not block may still be at it (communicator_table::settle()).
    void end() {
        open_ = false;
        check_begun(ncclGroupEnd(), "ncclGroupEnd");
    }

private:
    bool open_ = true;
};

/// The capture of a stream, and of those that join it. One that is left open would take in all that the stream is given afterwards.
class stream_capture {
public:
    explicit stream_capture(cudaStream_t s) : stream_(s) {
        check(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    }
    stream_capture(const stream_capture&) = delete;
    stream_capture& operator=(const stream_capture&) = delete;
    ~stream_capture() {
        if (open_) {
            cudaGraph_t unfinished = nullptr;
            (void)cudaStreamEndCapture(stream_, &unfinished); // it is another error that is being told
            (void)cudaGetLastError();
            const graph_handle owner(unfinished);
        }
    }
    graph_handle end() {
        open_ = false;
        cudaGraph_t made = nullptr;
        check(cudaStreamEndCapture(stream_, &made), "cudaStreamEndCapture");
        return graph_handle(made);
    }

private:
    cudaStream_t stream_;
    bool open_ = true;
};

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
