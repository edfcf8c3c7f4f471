// SPDX-License-Identifier: Apache-2.0
// What must end as it began, whatever is thrown meanwhile: the current GPU, a group of NCCL's calls, the capture of a
// stream.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/handles.hpp"

namespace tessera::cuda {

/// Makes a GPU current for a while.
class current_gpu {
public:
    explicit current_gpu(int gpu);
    current_gpu(const current_gpu&) = delete;
    current_gpu& operator=(const current_gpu&) = delete;
    ~current_gpu();

private:
    int before_ = 0;
    bool changed_ = false;
};

/// Of a call to a communicator that does not block: that it has succeeded, or is under way.
void check_begun(ncclResult_t result, const char* function);

/// A group of NCCL's calls of this thread. One that is left open would swallow all that comes after it, ncclCommAbort
/// too.
class nccl_group {
public:
    nccl_group() { check(ncclGroupStart(), "ncclGroupStart"); }
    nccl_group(const nccl_group&) = delete;
    nccl_group& operator=(const nccl_group&) = delete;
    ~nccl_group();
    /// Sends the calls on their way. Communicators that do not block may still be at it (communicator_table::settle()).
    void end();

private:
    bool open_ = true;
};

/// The capture of a stream, and of those that join it. One that is left open would take in all that the stream is given
/// afterwards.
class stream_capture {
public:
    explicit stream_capture(cudaStream_t s);
    stream_capture(const stream_capture&) = delete;
    stream_capture& operator=(const stream_capture&) = delete;
    ~stream_capture();
    graph_handle end();

private:
    cudaStream_t stream_;
    bool open_ = true;
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/issue/guards.inl"
#endif

#include "tessera/base/end_header.inl"
