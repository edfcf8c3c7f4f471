// SPDX-License-Identifier: Apache-2.0
// Bodies of proportion.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/proportion.hpp"

namespace tessera {

TESSERA_INLINE std::vector<index_t> cuts_in_proportion(index_t extent, const std::vector<index_t>& rates) {
    const auto n = static_cast<index_t>(rates.size());
    if (n < 2 || extent < n) {
        return {};
    }
    double all = 0;
    for (const index_t r : rates) {
        all += static_cast<double>(r);
    }
    std::vector<index_t> cuts;
    double before = 0;
    bool equal = true;
    for (index_t i = 1; i < n; ++i) {
        before += static_cast<double>(rates[to_size(i - 1)]);
        index_t at = std::llround(static_cast<double>(extent) * before / all);
        const index_t least = cuts.empty() ? 1 : cuts.back() + 1;
        const index_t most = extent - (n - i);
        at = at < least ? least : at > most ? most : at;
        equal = equal && at == even_part(extent, n, i).begin;
        cuts.push_back(at);
    }
    return equal ? std::vector<index_t>{} : cuts;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
