// SPDX-License-Identifier: Apache-2.0
// What a GPU has to show, in parts of less than 10 minutes each, a table for each. run.sh builds and runs them; by
// hand:
//
//     gpu_check correctness    numbers of one device: operators, networks in shards and pipelines, Fashion-MNIST
//                              (--data FOLDER)
//     gpu_check roofline       the constants of machine/presets.hpp
//     gpu_check networks       training steps, beside PyTorch on the same card where --peer FILE can run
//     gpu_check simulator      the same steps as predicted from measured tasks
//     gpu_operators            ts::sharded over the operators: kernels, movement, dispatch
//
// Options: --precision fp32|tf32|bf16, --only NAME (rows that begin so), --share K/N (of N processes), --strategies N,
// --limit SECONDS, --profile FILE, --tiny. Exit: 0 all well, 1 something failed or was left out, 2 a wrong option, 77
// no GPU. Needs CUDA, cuDNN, NCCL and a C++20 compiler. With TESSERA_MAKE_BELIEVE defined and --tiny it runs on the
// processor, on the make-believe libraries of tests/support/cuda_fake.hpp.
#ifdef TESSERA_MAKE_BELIEVE
#include "support/cuda_fake.hpp"
#endif
#include "tessera/cuda.hpp"

#include "benchmarks/gpu_check/correctness.hpp"
#include "benchmarks/gpu_check/networks.hpp"
#include "benchmarks/gpu_check/roofline.hpp"
#include "benchmarks/gpu_check/simulator.hpp"
#include "benchmarks/gpu_check/start.hpp"

int main(int count, char** words) {
    return gpu_check::start(count, words, [](const gpu_check::options& o) {
        if (o.part == "correctness") {
            return gpu_check::correctness(o);
        }
        if (o.part == "roofline") {
            return gpu_check::roofline(o);
        }
        if (o.part == "networks") {
            return gpu_check::all_networks(o);
        }
        if (o.part == "simulator") {
            return gpu_check::simulator(o);
        }
        std::fprintf(stderr, "usage: gpu_check correctness|roofline|networks|simulator [options]\n");
        return 2;
    });
}
