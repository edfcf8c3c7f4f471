// SPDX-License-Identifier: Apache-2.0
// Part "operators" of gpu_check, a program of its own because it takes a while to compile. Options: see gpu_check.cpp.
#ifdef TESSERA_MAKE_BELIEVE
#include "support/cuda_fake.hpp"
#endif
#include "tessera/cuda.hpp"

#include "benchmarks/gpu_check/operators.hpp"
#include "benchmarks/gpu_check/start.hpp"

int main(int count, char** words) {
    return gpu_check::start(count, words, [](const gpu_check::options& o) { return gpu_check::operators(o); });
}
