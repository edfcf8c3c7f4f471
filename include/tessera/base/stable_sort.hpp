// SPDX-License-Identifier: Apache-2.0
// Sorting that keeps the order of equals. (clang 19 warns of parts of libstdc++ under std::stable_sort.)
#pragma once
#include "tessera/base/begin_header.inl"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera::detail {

template <class T, class Less>
void stable_sort(std::vector<T>& all, const Less& less) {
    std::vector<std::size_t> order(all.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return less(all[a], all[b]) || (!less(all[b], all[a]) && a < b); });
    std::vector<T> sorted;
    sorted.reserve(all.size());
    for (const std::size_t i : order) {
        sorted.push_back(std::move(all[i]));
    }
    all = std::move(sorted);
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
