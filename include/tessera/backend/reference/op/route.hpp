// SPDX-License-Identifier: Apache-2.0
// Which slot of which expert a token gets, in plain loops (op/expert.hpp says by which rule).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/loops.hpp"
#include "tessera/backend/reference/op/row.hpp"

namespace tessera::reference {

namespace detail {

/// How many experts come before expert `e` for a token whose gates are `gates`.
template <class Real>
index_t rank_of(const Real* gates, index_t experts, index_t e) {
    index_t before = 0;
    for (index_t other = 0; other < experts; ++other) {
        before += gates[other] > gates[e] || (gates[other] == gates[e] && other < e) ? 1 : 0;
    }
    return before;
}

/// Calls body(token, slot) for every slot that expert `e` gives to a token of one sample, whose gates are [tokens,
/// experts].
template <class Real, class Body>
void for_each_slot(const Real* gates, index_t tokens, index_t experts, index_t e, const op::route_attributes& a,
                   Body&& body) {
    index_t taken = 0;
    for (index_t choice = 0; choice < a.top && taken < a.slots; ++choice) {
        for (index_t t = 0; t < tokens && taken < a.slots; ++t) {
            if (rank_of(gates + t * experts, experts, e) == choice) {
                body(t, taken++);
            }
        }
    }
}

/// Calls body(sample, token, expert, slot) for the slots in the shard's part.
template <class Real, class Body>
void for_each_route(const shard<Real>& s, Body&& body) {
    const int x = s.input();
    const box& tile = s.call.value[x].region;
    const Real* const gates = s.value(x);
    const index_t tokens = s.extents(x)[1];
    const index_t experts = s.extents(x)[2];
    const auto a = s.call.attributes.template as<op::route_attributes>();
    const interval* const ranges = s.call.ranges;
    for (index_t n = ranges[0].begin; n < ranges[0].end; ++n) {
        const Real* const own = gates + (n - tile.dim[0].begin) * tokens * experts;
        for (index_t e = ranges[2].begin; e < ranges[2].end; ++e) {
            for_each_slot(own, tokens, experts, e, a, [&](index_t t, index_t slot) {
                if (t >= ranges[1].begin && t < ranges[1].end && slot >= ranges[3].begin && slot < ranges[3].end) {
                    body(n, t, e, slot);
                }
            });
        }
    }
}

template <class Real>
void route(const shard<Real>& s) {
    const int y = s.output();
    const auto a = s.call.attributes.template as<op::route_attributes>();
    const Real* const gates = s.value(s.input());
    Real* const py = s.value(y);
    s.fill(y, Real(0));
    for_each_route(s, [&](index_t n, index_t t, index_t e, index_t slot) {
        py[place_in(s.call.value[y].region, n, t, e * a.slots + slot)] =
            a.weighted ? gates[place_in(s.call.value[s.input()].region, n, t, e)] : Real(1);
    });
}

template <class Real>
void route_gradient(const shard<Real>& s, int o) {
    const int y = s.output();
    const Real* const dy = s.gradient(y);
    Real* const to = s.gradient(o);
    for_each_route(s, [&](index_t n, index_t t, index_t e, index_t slot) {
        to[place_in(s.call.gradient[o].region, n, t, e)] += dy[place_in(
            s.call.gradient[y].region, n, t, e * s.call.attributes.template as<op::route_attributes>().slots + slot)];
    });
}

struct route_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        route(s);
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        route_gradient(s, o);
    }
};

} // namespace detail

inline constexpr row_list route_rows{
    row<op::route_record, detail::route_loops>{},
};

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
