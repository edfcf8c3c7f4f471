// SPDX-License-Identifier: Apache-2.0
// The core, the executor and the CUDA backend. Needs cudart, cuDNN 9, cublasLt, NCCL and NVRTC to link, and no nvcc.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/rules.hpp"    // first, so that compilers name this header alone before the words of a refusal
#include "tessera/execute/batch.hpp" // likewise, for those of feeds
#include "tessera/execute/layer_lookup.hpp" // and of layers

#include "tessera/backend/cuda/backend.hpp"
#include "tessera/backend/cuda/calls/print.hpp"
#include "tessera/execute/measure/sharded.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/tessera.hpp"

namespace tessera {

template <class Net>
struct cuda_default {
    using type = cuda::backend;
};

namespace cuda {

/// cuda::devices(2): two devices of a plan, each a thread of this process that issues to its GPU.
using devices = local_devices;

} // namespace cuda

} // namespace tessera

#include "tessera/base/end_header.inl"
