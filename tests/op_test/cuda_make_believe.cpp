// SPDX-License-Identifier: Apache-2.0
// The CUDA backend without a GPU: the list of calls of a plan, run by an interpreter, against the reference.
#include "op_test/backends.hpp"
#include "op_test/on_plan.hpp"
#include "op_test/wrong_cuda_row.hpp"
#include "support/cuda_instances.hpp"
#include "support/cuda_lists.hpp"

namespace op_test {

namespace {

void run(const task& t, outcome& found) {
    run_as_plan(t, found, [&](const ts::optimizer& update, int devices) {
        return test_support::emulated_backend(update,
                                              test_support::gpu_placement(devices, static_cast<int>(t.seed % 3)));
    });
}

} // namespace

backend cuda_make_believe_backend() {
    static const row wrong = wrong_row_of(wrong_cuda_record);
    return {.name = "cuda-make-believe",
            .against = "the reference, plans as calls that the processor interprets",
            .precisions = {ts::precision::fp32, ts::precision::tf32, ts::precision::bf16},
            .run = run,
            .wrong = &wrong,
            .refused = "vocabulary_loss"};
}

} // namespace op_test
