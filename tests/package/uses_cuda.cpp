// SPDX-License-Identifier: Apache-2.0
// The CUDA backend, which brings the CUDA libraries along. Runs without a GPU, too.
#include <nccl.h>
#include <tessera/cuda.hpp>

int main() {
    int version = 0;
    const bool answers = ncclGetVersion(&version) == ncclSuccess && version > 0;
    const tessera::cuda::machine_check found = tessera::cuda::find_devices();
    return answers && (found.devices > 0 || !found.reason.empty()) ? 0 : 1;
}
