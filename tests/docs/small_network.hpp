// SPDX-License-Identifier: Apache-2.0
// What the tests of pages train, and whether fit() tries what a page adds.
#pragma once

#include "tessera/machine/presets.hpp"
#include "tessera/net/network.hpp"
#include "tessera/search/fit/fit.hpp"

#include <algorithm>
#include <vector>

namespace docs_support {

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct network : ts::sequential<ts::features<6>, fc1, ts::relu, fc2, ts::cross_entropy> {};

/// A batch of it.
struct samples {
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    int size = 16;

    samples() {
        for (int i = 0; i < size * 6; ++i) {
            inputs.push_back(static_cast<float>(i % 7) / 7.0F - 0.5F);
        }
        for (int i = 0; i < size; ++i) {
            labels.push_back(i % 8);
        }
    }
};

/// Whether fit() on two devices has a row that was not refused and is one of those that are looked for.
template <class IsOne>
bool fits(const ts::graph& g, ts::search::fit_options how, IsOne&& is_one) {
    how.simulations = 1000;
    const ts::search::fit_result found = ts::search::fit(g.view(), ts::cluster(ts::machines::p100_nodes(1, 2)), how);
    return std::any_of(found.rows.begin(), found.rows.end(),
                       [&](const ts::search::fit_row& x) { return x.refused.empty() && is_one(x); });
}

} // namespace docs_support
