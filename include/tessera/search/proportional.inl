// SPDX-License-Identifier: Apache-2.0
// Bodies of proportional.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/proportional.hpp"

namespace tessera::search {

TESSERA_INLINE std::vector<index_t> rates_where_unequal(const cluster& on, int devices, precision math) {
    std::vector<index_t> rates;
    bool unequal = false;
    for (int d = 0; d < devices; ++d) {
        rates.push_back(on.class_of(d).rate(work_kind::matrix_product, math));
        unequal = unequal || rates.back() != rates.front();
    }
    return unequal ? rates : std::vector<index_t>{};
}

TESSERA_INLINE bool unequal_devices(const cluster& on, int devices, precision math) {
    return !rates_where_unequal(on, devices, math).empty();
}

TESSERA_INLINE proportional_split split_in_proportion(const description& d, loop_name name,
                                                      const std::vector<index_t>& rates) {
    proportional_split r;
    r.what = detail::split_along(d, name, static_cast<int>(rates.size()));
    const int l = d.find_loop(name);
    if (l >= 0 && r.what.degree[l] == static_cast<int>(rates.size())) {
        r.cuts = cuts_in_proportion(d.loops[l].extent, rates);
        r.what.cuts[l] = r.cuts.empty() ? -1 : 0;
    }
    return r;
}

TESSERA_INLINE strategy data_parallel_in_proportion(const graph_view& g, const cluster& on) {
    strategy s = data_parallel(g, on.devices());
    const std::vector<index_t> rates = rates_where_unequal(on, on.devices(), g.ops[0].attributes.math);
    for (int op = 0; op < g.op_count && !rates.empty(); ++op) {
        const description d = g.describe(op);
        const int l = d.find_loop(loop_name::sample);
        const proportional_split p = split_in_proportion(d, loop_name::sample, rates);
        if (l >= 0 && !p.cuts.empty()) {
            s.cut(op, l, p.cuts);
        }
    }
    return s;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
