// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's pairs of linear layers, as configurations of all operators.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/strategy.hpp"

namespace tessera::search::detail {

/// Splits an operator along loops of given names, as far as it has them, they may be split, and their extents reach.
struct split_request {
    loop_name name;
    int degree;
};

/// Splits loop `l` so often, or as often as it has indices.
constexpr void split_loop(configuration& c, const description& d, int l, int degree) {
    const index_t extent = d.loops[l].extent;
    c.degree[l] = extent < degree ? static_cast<int>(extent) : degree;
    c.uneven = c.uneven || extent % c.degree[l] != 0;
    c.reduces = c.reduces || role(d, l) == loop_role::coupled;
}

constexpr configuration split_by(const description& d, std::initializer_list<split_request> wanted) {
    configuration c;
    for (const split_request& w : wanted) {
        const int l = d.find_loop(w.name);
        if (l >= 0 && w.degree > 1 && splittable(d, l)) {
            split_loop(c, d, l, w.degree);
        }
    }
    return c;
}

/// What search::megatron() says of every operator. `notes` are zeros, one for every operator and every tensor.
constexpr void pair_products(const graph_view& g, int replicas, int split, configuration* all, int* notes) {
    int* paired = notes;
    int* reader = notes + g.op_count; // of every tensor: 1 + its only reader; 0: none, -1: there are several
    for (int op = 0; op < g.op_count; ++op) {
        all[op] = split_by(g.describe(op), {{loop_name::sample, replicas}});
        for (const int t : g.ops[op].inputs) {
            reader[t] = reader[t] == 0 ? op + 1 : -1;
        }
    }
    const auto reader_of = [&](int op) {
        const int r = reader[g.ops[op].output];
        return r > 0 ? r - 1 : -1;
    };
    for (int op = 0; op < g.op_count; ++op) {
        if (paired[op] != 0 || !multiplies_by_matrix(g.describe(op))) {
            continue;
        }
        int last = reader_of(op);
        while (last >= 0 && is_pointwise(g.describe(last))) {
            last = reader_of(last);
        }
        if (last < 0 || !multiplies_by_matrix(g.describe(last))) {
            continue;
        }
        for (int i = op; i != last; i = reader_of(i)) {
            all[i] = split_by(g.describe(i), {{loop_name::sample, replicas}, {loop_name::channel, split}});
        }
        all[last] = split_by(g.describe(last), {{loop_name::sample, replicas}, {loop_name::reduction, split}});
        paired[last] = 1;
    }
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
