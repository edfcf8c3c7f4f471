// SPDX-License-Identifier: Apache-2.0
// Bodies of tensor_fusion.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/tensor_fusion.hpp"

#include <utility>

namespace tessera::schedule::detail {

TESSERA_INLINE void fuse_cycle(std::vector<ready_gradient> ready, index_t threshold, std::vector<message>& out) {
    while (!ready.empty()) {
        message m{exchange::all_reduce, 0, {{ready[0].parameter, 0, 1}}};
        index_t sum = ready[0].bytes();
        index_t skipped_bytes = 0;
        std::vector<ready_gradient> skipped;
        std::size_t i = 1;
        for (; i < ready.size(); ++i) {
            if (ready[i].type == ready[0].type && sum + ready[i].bytes() <= threshold) {
                sum += ready[i].bytes();
                m.slices.push_back({ready[i].parameter, 0, 1});
                continue;
            }
            skipped_bytes += ready[i].bytes();
            if (sum + skipped_bytes > threshold) {
                break;
            }
            skipped.push_back(ready[i]);
        }
        skipped.insert(skipped.end(), ready.begin() + static_cast<std::ptrdiff_t>(i), ready.end());
        ready.swap(skipped);
        out.push_back(std::move(m));
    }
}

} // namespace tessera::schedule::detail

namespace tessera::schedule {

TESSERA_INLINE synchronization tensor_fusion(const std::vector<ready_gradient>& gradients, const fusion& how) {
    require(check_fusion(how));
    synchronization s;
    for (std::size_t i = 0; i < gradients.size();) {
        const index_t cycle = std::max<index_t>(how.cycle, 1);
        const auto cycle_of = [&](std::size_t k) { return (gradients[k].ready + cycle - 1) / cycle; };
        std::vector<ready_gradient> ready;
        const index_t now = cycle_of(i);
        for (; i < gradients.size() && cycle_of(i) == now; ++i) {
            ready.push_back(gradients[i]);
        }
        detail::fuse_cycle(std::move(ready), how.threshold, s.messages);
    }
    return s;
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
