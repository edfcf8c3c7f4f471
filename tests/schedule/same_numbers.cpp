// SPDX-License-Identifier: Apache-2.0
// Any stages, micro-batches, recomputation and schedule compute what one device computes that runs the same micro-batches.
// TESSERA_STRATEGIES=300 runs as many for every network.
#include "support/pipeline_sweep.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

} // namespace

TEST_CASE("random pipelines give the numbers of one device, twice the same bits") {
    coverage seen;
    const int pipelines = strategy_count(8);
    std::vector<std::pair<std::string, int>> schedules;
    int uneven = 0;
    int recomputed = 0;
    for (const sweep_case& c : sweep_cases()) {
        double worst[3] = {};
        sweep_pipelines(
            c, pipelines, seen, [](const ts::optimizer& how) { return ts::reference::backend(how); },
            [&](const sweep_case& of, const pipeline_case& p, int devices, const sweep_result& r) {
                CAPTURE(of.name);
                CAPTURE(p.schedule);
                CAPTURE(p.stages);
                CAPTURE(p.how.micro_batches);
                CAPTURE(p.recomputed);
                CAPTURE(devices);
                CAPTURE(r.seen.worst);
                CHECK(r.failure == "");
                CHECK(r.seen.loss <= 1e-4);
                CHECK(r.seen.gradient <= 1e-4);
                CHECK(r.seen.change <= 1e-4);
                CHECK(r.seen.copies_equal);
                CHECK(r.repeats);
                worst[0] = std::max(worst[0], r.seen.loss);
                worst[1] = std::max(worst[1], r.seen.gradient);
                worst[2] = std::max(worst[2], r.seen.change);
                uneven += of.network.tensors[0].extents[0] % p.how.micro_batches != 0 ? 1 : 0;
                recomputed += p.recomputed > 0 ? 1 : 0;
                auto known = std::find_if(schedules.begin(), schedules.end(),
                                          [&](const auto& s) { return s.first == p.schedule; });
                if (known == schedules.end()) {
                    schedules.emplace_back(p.schedule, 0);
                    known = schedules.end() - 1;
                }
                ++known->second;
            });
        MESSAGE(c.name << ": " << pipelines << " pipelines, largest relative difference of losses " << worst[0]
                       << ", gradients " << worst[1] << ", changes of weights " << worst[2]);
    }
    std::string all;
    for (const auto& [name, count] : schedules) {
        all += (all.empty() ? "" : ", ") + name + " " + std::to_string(count);
    }
    MESSAGE(all << "; uneven micro-batches " << uneven << ", with recomputation " << recomputed);
    CHECK(schedules.size() == 10);
    CHECK(uneven > 0);
    CHECK(recomputed > 0);
}
