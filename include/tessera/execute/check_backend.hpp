// SPDX-License-Identifier: Apache-2.0
// Whether a backend computes every operator of a network, asked while it is compiled.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/backend.hpp"
#include "tessera/net/describe.hpp"

namespace tessera {

/// A precision, as a fact in a compile error.
template <precision Math>
struct in_precision;

/// Refuses at compile time, naming layer, precision and backend, a network with an operator that the backend has
/// nothing for.
template <class Net, class B>
struct check_backend {
    static constexpr int find() {
        const graph_view g = detail::storage_of<Net, 64>.view();
        for (int op = 0; op < g.op_count; ++op) {
            const op_attributes& a = g.ops[op].attributes;
            if (!B::supports(record_of(a), pass::forward, a.math) ||
                !B::supports(record_of(a), pass::backward, a.math)) {
                return op;
            }
        }
        return -1;
    }
    static constexpr bool test() {
        constexpr int lacking = find();
        if constexpr (lacking < 0) {
            return true;
        } else {
            return refuse<rule::backend_lacks_operator, layer<typename layer_at<Net, lacking>::type>,
                          in_precision<detail::storage_of<Net, 64>.view().ops[lacking].attributes.math>, B>();
        }
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
