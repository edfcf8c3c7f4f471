// SPDX-License-Identifier: Apache-2.0
// On a GPU: the numbers of one device, with up to 8 virtual shards on one card. Without one, all of it is skipped, and
// says so.
#include "support/cuda_runs.hpp"

#include <doctest/doctest.h>

#include <cstdio>

namespace {

/// True, and a line that CTest takes for a reason to skip, where there is no GPU.
bool skipped() {
    const tessera::cuda::machine_check found = tessera::cuda::find_devices();
    if (!found) {
        std::printf("skipped: %s\n", found.reason.c_str());
    }
    return !found;
}

} // namespace

TEST_CASE("random strategies give the numbers of one device") {
    if (!skipped()) {
        cuda_runs::same_numbers(test_support::strategy_count(8), 1);
    }
}

TEST_CASE("steps replayed from a graph give the numbers of one device") {
    if (!skipped()) {
        cuda_runs::same_numbers(test_support::strategy_count(4), 1, true);
    }
}

TEST_CASE("random pipelines give the numbers of one device, issued or replayed") {
    if (!skipped()) {
        cuda_runs::pipelines(test_support::strategy_count(4), 1, true);
    }
}

TEST_CASE("a trainer learns, evaluates, and takes a short batch") {
    if (!skipped()) {
        cuda_runs::trainer();
    }
}

TEST_CASE("one operator in shards runs forward and backward as often as wanted") {
    if (!skipped()) {
        cuda_runs::sharded();
    }
}

TEST_CASE("networks in fp32, tf32 and bf16 give the numbers of one device in that precision") {
    if (!skipped()) {
        for (const auto math : {tessera::precision::fp32, tessera::precision::tf32, tessera::precision::bf16}) {
            cuda_runs::precision(math, {0, 0}, [](const auto&) {});
        }
    }
}
