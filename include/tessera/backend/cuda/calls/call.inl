// SPDX-License-Identifier: Apache-2.0
// Bodies of call.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/call.hpp"

namespace tessera::cuda {

TESSERA_INLINE int call_list::stream_of(int device, bool side_stream) const {
    for (std::size_t i = 0; i < streams.size(); ++i) {
        if (streams[i].device == device && streams[i].side_stream == side_stream) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

TESSERA_INLINE int call_list::nccl_stream_of(int gpu) const {
    for (std::size_t i = 0; i < streams.size(); ++i) {
        if (streams[i].device < 0 && streams[i].gpu == gpu) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
