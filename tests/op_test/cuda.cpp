// SPDX-License-Identifier: Apache-2.0
// The CUDA backend on a GPU, several devices on one card, against the reference.
#include "op_test/backends.hpp"
#include "op_test/on_plan.hpp"
#include "op_test/wrong_cuda_row.hpp"

#include "tessera/cuda.hpp"

namespace op_test {

namespace {

void run(const task& t, outcome& found) {
    task on_gpu = t;
    on_gpu.allowed = t.math == ts::precision::tf32 ? 5e-3 : 0; // vendors sum in orders of their own
    run_as_plan(on_gpu, found, [&](const ts::optimizer& update, int devices) {
        return ts::cuda::backend(update,
                                 {.gpus = std::vector<int>(ts::to_size(devices), 0), .measure = t.seed % 4 == 0});
    });
}

} // namespace

backend cuda_backend() {
    static const row wrong = wrong_row_of(wrong_cuda_record);
    const ts::cuda::machine_check found = ts::cuda::find_devices();
    return {.name = "cuda",
            .against = "the reference, plans on one GPU",
            .precisions = {ts::precision::fp32, ts::precision::tf32, ts::precision::bf16},
            .missing = found ? "" : found.reason,
            .run = run,
            .wrong = &wrong,
            .refused = "vocabulary_loss"};
}

} // namespace op_test
