// SPDX-License-Identifier: Apache-2.0
// Kernels whose text is made of loop nests: NVRTC compiles it, and the same text, compiled for the processor, gives the
// reference's numbers under random splits, forward and backward, in fp32 and in bf16.
#include "op/nests.hpp"
#include "support/behind_products.hpp"
#include "support/cuda_instances.hpp"
#include "support/cuda_lists.hpp"

#include "tessera/backend/cuda/issue/module.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/net/precision.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace cuda = ts::cuda;
using namespace test_support;

/// The operator, behind products, under random splits, by its kernels and by the reference.
void check_splits(const tests::op_case& row, std::uint64_t count) {
    ts::graph network = graph_behind_products(row);
    const ts::graph_view g = network.view();
    const batch_data data(g, 3);
    coverage seen;
    for (std::uint64_t seed = 0; seed < count; ++seed) {
        const bool half = seed % 4 == 3;
        ts::set_precision(network, half ? ts::precision::bf16 : ts::precision::fp32);
        const int devices = 1 + static_cast<int>(seed % 4);
        const ts::strategy s = random_strategy(g, devices, seed + 5, seen);
        CAPTURE(row.name);
        CAPTURE(seed);
        ts::reference::backend plain;
        emulated_backend emulated({}, gpu_placement(devices, static_cast<int>(seed % 3)));
        each_result_beside(plain, emulated, g, s, devices, data,
                           [&](int result, const auto& got, const auto& expected) {
                               CAPTURE(result);
                               CHECK(relative(got, expected, 1e-6) < (half ? 5e-2 : 1e-4));
                           });
    }
}

} // namespace

TEST_CASE("loop nests run on the CUDA backend under random splits") {
    for (const tests::op_case& row : tests::nests::table()) {
        check_splits(row, 8);
    }
}

TEST_CASE("rows that blocks share give the reference's numbers") {
    using namespace tests::nests;
    check_splits({"rms", rms::attributes, {ts::make_shape(6, 200)}}, 4);
    check_splits({"layer norm", layer::attributes, {ts::make_shape(40, 3, 70)}}, 4);
    check_splits({"largest", largest::attributes, {ts::make_shape(3, 50, 4)}}, 4);
}

TEST_CASE("NVRTC compiles the kernels of loop nests, in both forms") {
    for (const tests::op_case& row : tests::nests::table()) {
        const cuda::detail::own_nests& own = cuda::detail::own_nests_of(ts::record_of(row.attributes));
        const auto& made = *own.of_rank[row.inputs[0].rank];
        CAPTURE(made.text);
        const std::vector<char> binary = cuda::compile_kernels(90, cuda::source_of(made.text));
        const std::string text(binary.begin(), binary.end());
        for (const auto* all : {&made.kernels_forward, &made.kernels_backward}) {
            for (const auto& k : *all) {
                CHECK(text.find(".text." + k->name + '\0') != std::string::npos);
                CHECK(text.find(".text." + k->name + "_bf16") != std::string::npos);
            }
        }
    }
}
