// SPDX-License-Identifier: Apache-2.0
// Bodies of single_thread.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/onednn/single_thread.hpp"

namespace tessera::host {

TESSERA_INLINE single_thread::single_thread() : before_(tessera_omp_get_max_threads()) {
    if (before_ != 1) {
        tessera_omp_set_num_threads(1);
    }
}

TESSERA_INLINE single_thread::~single_thread() {
    if (before_ != 1) {
        tessera_omp_set_num_threads(before_);
    }
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
