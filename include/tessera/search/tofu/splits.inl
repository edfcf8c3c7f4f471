// SPDX-License-Identifier: Apache-2.0
// Bodies of splits.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/tofu/splits.hpp"

namespace tessera::search {

TESSERA_INLINE tofu_steps tofu_steps::first(int count) const {
    tofu_steps some{{factors.begin(), factors.begin() + count}, {}};
    some.strides = strides_of(some.factors);
    return some;
}

TESSERA_INLINE std::vector<int> tofu_steps::strides_of(const std::vector<int>& factors) {
    std::vector<int> all(factors.size(), 1);
    for (std::size_t i = factors.size(); i-- > 1;) {
        all[i - 1] = all[i] * factors[i];
    }
    return all;
}

} // namespace tessera::search

namespace tessera::search::detail {

TESSERA_INLINE void append_primes(int number, std::vector<int>& to) {
    std::vector<int> own;
    for (int p = 2; p <= number; ++p) {
        for (; number % p == 0; number /= p) {
            own.push_back(p);
        }
    }
    to.insert(to.end(), own.rbegin(), own.rend());
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE tofu_steps steps_for(int nodes, int per_node) {
    tofu_steps s;
    detail::append_primes(nodes, s.factors);
    detail::append_primes(per_node, s.factors);
    s.strides = tofu_steps::strides_of(s.factors);
    return s;
}

TESSERA_INLINE int parts_of(const std::vector<int>& history, const std::vector<int>& factors, int loop) {
    int n = 1;
    for (std::size_t i = 0; i < history.size(); ++i) {
        n *= history[i] == loop ? factors[i] : 1;
    }
    return n;
}

TESSERA_INLINE configuration configuration_of(const description& d, const std::vector<int>& history,
                                              const tofu_steps& steps, std::vector<index_t>& pool) {
    configuration c;
    const std::size_t n = history.size();
    std::vector<int> later(n, 1); ///< parts that further steps make of a part, along its loop
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = i + 1; j < n; ++j) {
            later[i] *= history[j] == history[i] ? steps.factors[j] : 1;
        }
        (history[i] == copied ? c.replicate : c.degree[history[i]]) *= steps.factors[i];
    }
    for (int l = 0; l < d.loops.size(); ++l) {
        c.uneven = c.uneven || d.loops[l].extent % c.degree[l] != 0;
        c.reduces = c.reduces || (c.degree[l] > 1 && role(d, l) == loop_role::coupled);
    }
    std::vector<index_t> devices;
    bool in_order = true;
    for (int i = 0; i < c.shards(); ++i) {
        int index[max_loops];
        int rest = i / c.replicate;
        for (int l = d.loops.size() - 1; l >= 0; --l) {
            index[l] = rest % c.degree[l];
            rest /= c.degree[l];
        }
        index_t device = 0;
        for (std::size_t s = 0; s < n; ++s) {
            const int place = history[s] == copied ? i % c.replicate : index[history[s]];
            device += index_t{place / later[s] % steps.factors[s]} * steps.strides[s];
        }
        in_order = in_order && device == i;
        devices.push_back(device);
    }
    if (!in_order) {
        c.devices = static_cast<int>(pool.size());
        pool.insert(pool.end(), devices.begin(), devices.end());
    }
    return c;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
