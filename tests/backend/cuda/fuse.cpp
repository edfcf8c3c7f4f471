// SPDX-License-Identifier: Apache-2.0
// Fused expressions on the CUDA backend whose calls the processor interprets: the text of their kernels is made while
// the plan is bound.
#include "support/cuda_instances.hpp"
#include "support/cuda_lists.hpp"
#include "support/expression_networks.hpp"

#include <doctest/doctest.h>

using namespace test_support;

TEST_CASE("fused networks train on the CUDA backend as others do") {
    const fusion_findings found = hold_fused(3000, 12, 1e-4, [](const ts::optimizer& update, std::uint64_t) {
        return emulated_backend(update, gpu_placement(8, 0));
    });
    for (const std::string& w : found.wrong) {
        FAIL_CHECK(w);
    }
    CHECK(found.fused * 2 > found.pairs);
    MESSAGE(found.fused << " of " << found.pairs << " fuse something, " << found.refused
                        << " are refused with and without, largest relative difference " << found.worst);
}
