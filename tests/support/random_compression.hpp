// SPDX-License-Identifier: Apache-2.0
// Random strategies whose gradients are compressed.
#pragma once

#include "random_pair.hpp"

#include "tessera/schedule/top_k_gradients.hpp"

namespace test_support {

/// Gives a strategy one of the policies that compress, with messages of several gradients; it may not fit (one device).
inline void compress(const ts::graph_view& g, std::uint64_t number, random_pair& pair) {
    const auto all = ts::schedule::gradients_of(g);
    const ts::sync_time update_at = pair.how.sync.update_at;
    const ts::sync_time sum_at = pair.how.sync.sum_at;
    pair.how.parameters_on = -1;
    pair.how.sync = number % 3 == 0   ? ts::schedule::eight_bit_gradients(all, 64, {2000, 500})
                    : number % 3 == 1 ? ts::schedule::one_bit_gradients(all, 32, {2000, 500})
                                      : ts::schedule::top_k_gradients(all, 5, {2000, 500});
    pair.how.sync.update_at = update_at;
    pair.how.sync.sum_at = sum_at;
    pair.what += ", compressed";
}

} // namespace test_support
