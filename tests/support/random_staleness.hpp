// SPDX-License-Identifier: Apache-2.0
// Random strategies whose gradients are used some steps late.
#pragma once

#include "random_pair.hpp"

#include "tessera/schedule/stale_gradients.hpp"

namespace test_support {

/// Gives a strategy messages of any exchange whose sums are used late.
inline void delay(const ts::graph_view& g, std::uint64_t number, random_pair& pair) {
    const ts::sync_time sum_at = pair.how.sync.sum_at;
    pair.how.parameters_on = -1;
    pair.how.sync =
        ts::schedule::stale_gradients(ts::schedule::gradients_of(g), 1 + static_cast<int>(number % 3), {2000, 500});
    for (ts::message& m : pair.how.sync.messages) {
        m.method = static_cast<ts::exchange>(number / 3 % 4);
    }
    pair.how.sync.sum_at = sum_at;
    pair.how.steps_per_plan = 4;
    pair.what += ", used late";
}

} // namespace test_support
