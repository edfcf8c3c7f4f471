// SPDX-License-Identifier: Apache-2.0
// The legal configurations of an operator, in a fixed order.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/fixed_vector.hpp"
#include "tessera/strategy/configuration.hpp"

#include <vector>

namespace tessera::search {

/// Which configurations are offered. Shards are always on devices 0, 1, 2, ... and never replicated.
struct configuration_options {
    /// Degrees are powers of this: of two, as OptCNN's, or of the side of a square mesh, where every dimension is split
    /// over whole axes of the mesh; 0: any.
    int powers_of = 2;
    bool with_reduction = true; ///< sums may be split, which leaves partial tensors (OptCNN does not offer it)
    bool with_coupled = true;   ///< coupled loops may be split, with reductions inside the operator
    bool uneven = false;        ///< degrees need not divide their extents
};

constexpr bool is_power_of(int n, int base) {
    while (n % base == 0) {
        n /= base;
    }
    return n == 1;
}

/// Calls sink(configuration) for every legal configuration of at most `devices` shards. The first is whole; the last
/// loop's degree varies fastest.
template <class Sink>
constexpr void for_each_configuration(const description& d, int devices, const configuration_options& options,
                                      Sink&& sink) {
    bool allowed[max_loops]{};
    loop_role roles[max_loops]{};
    const int loops = d.loops.count;
    for (int l = 0; l < loops; ++l) {
        roles[l] = role(d, l);
        allowed[l] = splittable(d, l) && (roles[l] != loop_role::reduction || options.with_reduction) &&
                     (roles[l] != loop_role::coupled || options.with_coupled);
    }
    configuration c;
    int shards = 1;
    while (true) {
        c.uneven = false;
        c.reduces = false;
        for (int l = 0; l < loops; ++l) {
            c.uneven = c.uneven || d.loops.items[l].extent % c.degree[l] != 0;
            c.reduces = c.reduces || (c.degree[l] > 1 && roles[l] == loop_role::coupled);
        }
        sink(static_cast<const configuration&>(c));
        int l = loops - 1;
        for (; l >= 0; --l) { // the next degree of the last loop that has one; the loops after it start again
            if (!allowed[l]) {
                continue;
            }
            shards /= c.degree[l];
            int next = c.degree[l];
            do {
                next = options.powers_of > 1 ? options.powers_of * next : next + 1;
            } while (next * shards <= devices && !options.uneven && d.loops.items[l].extent % next != 0);
            if (next * shards <= devices && next <= d.loops.items[l].extent) {
                c.degree[l] = next;
                shards *= next;
                break;
            }
            c.degree[l] = 1;
        }
        if (l < 0) {
            return;
        }
    }
}

constexpr int count_configurations(const description& d, int devices, const configuration_options& options = {}) {
    int n = 0;
    for_each_configuration(d, devices, options, [&n](const configuration&) { ++n; });
    return n;
}

/// The configurations as a vector, for run time.
std::vector<configuration> enumerate(const description& d, int devices, const configuration_options& options = {});

/// At most Capacity of them, for constant expressions; count_configurations says how many there are.
template <int Capacity>
constexpr fixed_vector<configuration, Capacity> enumerate_some(const description& d, int devices,
                                                               const configuration_options& options = {}) {
    fixed_vector<configuration, Capacity> all;
    for_each_configuration(d, devices, options, [&all](const configuration& c) { all.push_back(c); });
    return all;
}

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/configurations.inl"
#endif

#include "tessera/base/end_header.inl"
