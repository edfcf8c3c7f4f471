// SPDX-License-Identifier: Apache-2.0
// Any operator of the table on any backend against the reference: one program for all of them. See --help, and
// CONTRIBUTING.md.
#include "op_test/runner.hpp"

#include <cstdio>
#include <exception>

namespace {

std::vector<op_test::backend> all_backends() {
    std::vector<op_test::backend> all{op_test::reference_backend()};
#ifdef TESSERA_TEST_HOST
    all.push_back(op_test::host_backend());
#else
    all.push_back({.name = "host", .missing = "this build has no host backend, for lack of oneDNN"});
#endif
    all.push_back(op_test::cuda_make_believe_backend());
#ifdef TESSERA_OP_TEST_CUDA
    all.push_back(op_test::cuda_backend());
#else
    all.push_back({.name = "cuda", .missing = "this build has no CUDA backend, for lack of CUDA, cuDNN or NCCL"});
#endif
    return all;
}

} // namespace

int main(int count, char** words) {
    try {
        return op_test::run(op_test::read_options({words + 1, words + count}), words[0], all_backends());
    } catch (const std::exception& e) {
        std::fprintf(stderr, "tessera_op_test: %s\n", e.what());
        return 2;
    }
}
