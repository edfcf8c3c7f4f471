// SPDX-License-Identifier: Apache-2.0
// LARS and LAMB, whose steps need norms of whole parameters, under random strategies, pipelines and all synchronization
// policies: the numbers of one device in double, on the reference backend and on the host.
#include "support/optimizer_runs.hpp"

#include "tessera/strategy/typed_groups.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

/// The optimizers on networks whose parameters are split, tied, frozen and of several losses; some clip the norm of all
/// gradients besides.
std::vector<sweep_case> cases() {
    namespace n = test_networks;
    const auto all = layerwise_optimizers();
    std::vector<sweep_case> made;
    for (const auto& x : all) {
        made.push_back({x.first, ts::describe<n::mlp::network>(6), x.second});
        made.back().how.clip_norm = made.size() % 2 == 0 ? 0.05F : 0.0F;
    }
    for (std::size_t i = 0; i < 2; ++i) {
        made.push_back({all[i].first + ", U-Net", ts::describe<n::unet::network>(4), all[i].second});
        made.push_back({all[i].first + ", tied layers", ts::describe<n::transformer::network>(4), all[i].second});
        made.push_back({all[i].first + ", frozen layers", ts::describe<n::frozen_net::network>(5), all[i].second});
    }
    made.push_back({"LARS of some", ts::describe<n::mlp::network>(6),
                    ts::with_groups(all[0].second, ts::group<ts::biases_and_norms>{.decay = 0, .trust_ratio = false})});
    return made;
}

} // namespace

TEST_CASE("LARS and LAMB give the numbers of one device under random strategies on the reference backend") {
    hold_cases_on_reference(cases());
}

TEST_CASE("LARS and LAMB give the numbers of one device under random strategies on the host") {
    hold_cases(cases(), host_in_formats_of);
}

TEST_CASE("LARS and LAMB give the numbers of one device under every synchronization policy") { hold_policies(cases()); }
