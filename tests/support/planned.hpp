// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/strategy/strategy.hpp"

namespace test_support {

/// Every operator split by samples over all devices.
inline tessera::strategy data_parallel(const tessera::graph_view& g, int devices,
                                       const tessera::synchronization& sync = {}) {
    tessera::strategy s(g);
    for (tessera::configuration& c : s.ops) {
        c.degree[0] = devices;
        c.uneven = c.reduces = true;
    }
    s.sync = sync;
    return s;
}

/// The finished plan of a legal strategy.
inline tessera::plan planned(const tessera::graph_view& g, const tessera::strategy& s, int devices,
                             const tessera::lower_options& o = {}) {
    tessera::require(g, s.view(), devices);
    tessera::plan p = tessera::lower(g, s.view(), devices, o);
    tessera::finish(g, p);
    return p;
}

} // namespace test_support
