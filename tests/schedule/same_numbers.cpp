// SPDX-License-Identifier: Apache-2.0
// Any stages, micro-batches, recomputation and schedule compute what one device computes that runs the same
// micro-batches. TESSERA_STRATEGIES=300 runs as many for every network.
#include "support/sweep_check.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

} // namespace

TEST_CASE("random pipelines give the numbers of one device, twice the same bits") {
    const pipeline_coverage seen = hold_pipelines(
        strategy_count(4), [](const ts::optimizer& update, int /*run*/) { return ts::reference::backend(update); });
    std::string all;
    for (const auto& [name, count] : seen.schedules) {
        all.append(all.empty() ? "" : ", ").append(name).append(" ").append(std::to_string(count));
    }
    MESSAGE(all << "; uneven micro-batches " << seen.uneven << ", with recomputation " << seen.recomputed);
    CHECK(seen.schedules.size() >= 8);
    CHECK(seen.uneven > 0);
    CHECK(seen.recomputed > 0);
}
