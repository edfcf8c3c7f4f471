// SPDX-License-Identifier: Apache-2.0
// Networks in precisions that are planned for alone are refused by name where they would run, and planned as bf16 is.
#include "examples/networks.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/io/exchange/network_cpp.hpp"
#include "tessera/io/exchange/network_file.hpp"
#include "tessera/net/precision.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;

ts::graph lenet_in(ts::precision p) {
    ts::graph g = ts::describe<networks::lenet5>(4);
    ts::set_precision(g, p);
    return g;
}

} // namespace

TEST_CASE("fp16 and fp8: bytes of bf16, and no backend runs them") {
    const ts::graph bf16 = lenet_in(ts::precision::bf16);
    for (const ts::precision p : {ts::precision::fp16, ts::precision::fp8}) {
        const std::string name = ts::to_text(p);
        const ts::graph g = lenet_in(p);
        for (std::size_t t = 0; t < g.tensors.size(); ++t) {
            CHECK(g.tensors[t].type == bf16.tensors[t].type);
        }
        const ts::strategy s = ts::search::data_parallel(g.view(), 2);
        ts::plan plan = ts::lower(g.view(), s.view(), 2, {});
        ts::plan same = ts::lower(bf16.view(), s.view(), 2, {});
        CHECK(plan.tiles == same.tiles);
        ts::reference::backend backend;
        CHECK_THROWS_WITH_AS(backend.bind(plan, g.view(), nullptr),
                             doctest::Contains(("computes in " + name + ", which is planned for").c_str()), ts::error);
        backend.bind(same, bf16.view(), nullptr);
        CHECK(!ts::reference::supports(ts::op::linear_record, ts::pass::forward, p));
        CHECK(ts::reference::supports(ts::op::linear_record, ts::pass::forward, ts::precision::bf16));
        CHECK_THROWS_WITH_AS(ts::io::to_cpp(g.view(), "lenet5"), doctest::Contains("which is planned for"), ts::error);
        const std::string text = ts::io::to_text(ts::io::to_json(g.view(), "lenet5"));
        CHECK(text.find("\"precision\": \"" + name + "\"") != std::string::npos);
        CHECK(ts::io::network_from_text(text).network.ops[0].attributes.math == p);
    }
}
