// SPDX-License-Identifier: Apache-2.0
// Superposition: the inputs of dense layers are multiplied by vectors that depend on the graph, so that one set of
// weights serves many graphs.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/dag.hpp"
#include "tessera/net/network.hpp"
#include "tessera/op/expression/record.hpp"

namespace tessera::learned {

/// x[N,T,C] times 1 + vector[N,C]: a vector of zeros changes nothing, so that training starts near the network without
/// superposition.
struct modulated : elementwise<modulated> {
    static constexpr const char* name = "modulated";
    static constexpr auto of(auto vector, auto x) { return (1 + vector) * x; }
};

/// Multiplies what goes into a dense layer by the vector called Vector; where superposition is off, no operator at all.
template <bool On, class Vector>
struct modulate {
    using type = tap<modulated, Vector>;
};
template <class Vector>
struct modulate<false, Vector> {
    using type = branch<>;
};

/// Entries of a dag as one entry, in order; none at all where there are none.
template <class... Entries>
struct entries {
    static constexpr int op_count = tessera::detail::ops_in<Entries...>();
    template <int I>
    static constexpr auto nth() {
        return tessera::detail::nth_of<I, entries, Entries...>();
    }
    static constexpr void append_to(graph_builder& b) {
        const bool done[] = {true, tessera::detail::append_entry<Entries>(b)...};
        static_cast<void>(done);
    }
};

/// Entries where On, and nothing where it is off.
template <bool On, class... Entries>
struct entries_if : entries<Entries...> {};
template <class... Entries>
struct entries_if<false, Entries...> : entries<> {};

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
