// SPDX-License-Identifier: Apache-2.0
// oneDNN on the calling thread alone: a device of a plan is one thread, and oneDNN would use as many as OpenMP has.
#pragma once
#include "tessera/base/begin_header.inl"

// By other names than OpenMP's own, so that <omp.h>, which declares them differently in every compiler, may come before
// or after.
extern "C" {
int tessera_omp_get_max_threads() __asm__("omp_get_max_threads");
void tessera_omp_set_num_threads(int) __asm__("omp_set_num_threads");
}

namespace tessera::host {

/// While it lives, OpenMP has one thread for what this thread starts; afterwards as many as before.
class single_thread {
public:
    single_thread();
    single_thread(const single_thread&) = delete;
    single_thread& operator=(const single_thread&) = delete;
    ~single_thread();

private:
    int before_;
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/onednn/single_thread.inl"
#endif

#include "tessera/base/end_header.inl"
