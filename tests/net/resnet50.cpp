// SPDX-License-Identifier: Apache-2.0
// ResNet-50 as a network type has the numbers that are published for it.
#include "examples/networks.hpp"

#include "tessera/net/describe.hpp"
#include "tessera/op/analysis.hpp"

#include <doctest/doctest.h>

TEST_CASE("ResNet-50 has 25557032 parameters and 4.09 billion multiply-adds for an image") {
    namespace ts = tessera;
    const ts::graph network = ts::describe<networks::resnet50>(1);
    const ts::graph_view g = network.view();
    ts::index_t parameters = 0;
    for (int p = 0; p < g.parameter_count; ++p) {
        parameters += g.parameters[p].trained ? g.parameters[p].extents.volume() : 0;
    }
    CHECK(parameters == 25557032); // torchvision, "resnet50"
    ts::index_t flops = 0;
    int convolutions = 0;
    for (int op = 0; op < g.op_count; ++op) {
        const ts::description d = g.describe(op);
        ts::interval all[ts::max_loops];
        for (int l = 0; l < d.loops.size(); ++l) {
            all[l] = {0, d.loops[l].extent};
        }
        const ts::op_kind kind = g.ops[op].attributes.kind;
        convolutions += kind == ts::op_kind::conv2d ? 1 : 0;
        flops += kind == ts::op_kind::conv2d || kind == ts::op_kind::linear ? ts::forward_flops(d, all) : 0;
    }
    CHECK(convolutions == 53);                                                       // 49 and four projections
    CHECK(static_cast<double>(flops) / 2 == doctest::Approx(4.09e9).epsilon(0.001)); // torchvision: 4.09 "GFLOPS"
}
