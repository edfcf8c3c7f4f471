// SPDX-License-Identifier: Apache-2.0
// Tokens sent to experts and back, in plain loops (op/routing.hpp says by which rule).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/op/route.hpp"
#include "tessera/backend/reference/op/row.hpp"

#include <vector>

namespace tessera::reference {

namespace detail {

/// Writes the numbers of the `top` largest of `count` numbers, the largest first, of equal ones the first.
template <class Real>
void choose_top(const Real* x, index_t count, index_t top, index_t* chosen) {
    for (index_t k = 0; k < top; ++k) {
        index_t best = -1;
        for (index_t e = 0; e < count; ++e) {
            bool free = true;
            for (index_t before = 0; before < k; ++before) {
                free = free && chosen[before] != e;
            }
            best = free && (best < 0 || x[e] > x[best]) ? e : best;
        }
        chosen[k] = best;
    }
}

struct token_slots_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        const auto a = s.call.attributes.template as<op::token_slots_attributes>();
        const interval* const r = s.call.ranges; // samples, experts, slots
        const box& x = s.call.value[s.input()].region;
        const box& y = s.call.value[s.output()].region;
        const index_t tokens = s.extents(s.input())[1];
        const index_t experts = s.extents(s.input())[2];
        const index_t slots = s.extents(s.output())[2];
        std::int32_t* const to = s.template value<std::int32_t>(s.output());
        std::vector<index_t> chosen(to_size(tokens * a.top));
        std::vector<index_t> taken(to_size(experts));
        s.template fill<std::int32_t>(s.output(), 0);
        for (index_t n = r[0].begin; n < r[0].end; ++n) {
            const Real* const own = s.value(s.input()) + (n - x.dim[0].begin) * tokens * experts;
            for (index_t t = 0; t < tokens; ++t) {
                choose_top(own + t * experts, experts, a.top, chosen.data() + t * a.top);
            }
            taken.assign(taken.size(), 0);
            for (index_t choice = 0; choice < a.top; ++choice) {
                for (index_t t = 0; t < tokens; ++t) {
                    const index_t e = chosen[to_size(t * a.top + choice)];
                    index_t& slot = taken[to_size(e)];
                    if (slot < slots) {
                        if (e >= r[1].begin && e < r[1].end) {
                            to[place_in(y, n, e, slot)] = static_cast<std::int32_t>(t + 1);
                        }
                        ++slot;
                    }
                }
            }
        }
    }
    template <class Real>
    static void backward(const shard<Real>&, int) {} // nothing flows
};

struct keep_top_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        const box& y = s.call.value[s.output()].region;
        Real* const to = s.value(s.output());
        s.fill(s.output(), Real(0));
        each(s, [&](index_t n, index_t t, const Real* x, const std::vector<index_t>& kept, Real scale) {
            for (const index_t e : kept) {
                if (s.call.ranges[2].begin <= e && e < s.call.ranges[2].end) {
                    to[place_in(y, n, t, e)] = x[e] * scale;
                }
            }
        });
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        const bool normalized = s.call.attributes.template as<op::keep_top_attributes>().normalized;
        const box& y = s.call.gradient[s.output()].region;
        const box& x_region = s.call.gradient[o].region;
        const Real* const dy = s.gradient(s.output());
        Real* const dx = s.gradient(o);
        each(s, [&](index_t n, index_t t, const Real* x, const std::vector<index_t>& kept, Real scale) {
            Real through_sum = 0;
            for (const index_t e : kept) {
                if (s.call.ranges[2].begin <= e && e < s.call.ranges[2].end) {
                    const Real own = dy[place_in(y, n, t, e)] * scale;
                    dx[place_in(x_region, n, t, e)] += own;
                    through_sum += own * x[e] * scale;
                }
            }
            for (const index_t e : kept) {
                dx[place_in(x_region, n, t, e)] -= normalized ? through_sum : Real(0);
            }
        });
    }

private:
    /// Calls body(n, t, its row of x, what is kept of it, by what that is multiplied).
    template <class Real, class Body>
    static void each(const shard<Real>& s, const Body& body) {
        const auto a = s.call.attributes.template as<op::keep_top_attributes>();
        const interval* const r = s.call.ranges;
        const Real* const x = s.value(s.input());
        const index_t columns = s.extents(s.input())[2];
        std::vector<index_t> kept(to_size(a.top));
        for (index_t n = r[0].begin; n < r[0].end; ++n) {
            for (index_t t = r[1].begin; t < r[1].end; ++t) {
                const Real* const row = x + place_in(s.call.value[s.input()].region, n, t, 0);
                choose_top(row, columns, a.top, kept.data());
                Real sum = 0;
                for (const index_t e : kept) {
                    sum += row[e];
                }
                body(n, t, row, kept, a.normalized && sum != 0 ? 1 / sum : Real(1));
            }
        }
    }
};

/// Calls body(n, e, row, token) for the filled slots of the shard, `row` being a slot's place among those of all
/// experts.
template <class Real, class Body>
void for_each_filled(const shard<Real>& s, const interval& experts, const Body& body) {
    const int table = s.input(1);
    const std::int32_t* const tokens = s.template value<std::int32_t>(table);
    const box& region = s.call.value[table].region;
    const index_t slots = s.extents(table)[2];
    for (index_t n = s.call.ranges[0].begin; n < s.call.ranges[0].end; ++n) {
        for (index_t e = experts.begin; e < experts.end; ++e) {
            for (index_t slot = 0; slot < slots; ++slot) {
                const std::int32_t token = tokens[place_in(region, n, e, slot)];
                if (token > 0) {
                    body(n, e, e * slots + slot, static_cast<index_t>(token) - 1);
                }
            }
        }
    }
}

struct dispatch_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        const Real* const x = s.value(s.input());
        Real* const y = s.value(s.output());
        s.fill(s.output(), Real(0));
        each(s, [&](index_t n, index_t row, index_t t, index_t c) {
            y[place_in(s.call.value[s.output()].region, n, row, c)] =
                x[place_in(s.call.value[s.input()].region, n, t, c)];
        });
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        const Real* const dy = s.gradient(s.output());
        Real* const dx = s.gradient(o);
        each(s, [&](index_t n, index_t row, index_t t, index_t c) {
            dx[place_in(s.call.gradient[o].region, n, t, c)] +=
                dy[place_in(s.call.gradient[s.output()].region, n, row, c)];
        });
    }

private:
    template <class Real, class Body>
    static void each(const shard<Real>& s, const Body& body) {
        const interval* const r = s.call.ranges; // samples, experts, slots, channels, tokens
        for_each_filled(s, r[1], [&](index_t n, index_t, index_t row, index_t t) {
            for (index_t c = r[3].begin; c < r[3].end && t >= r[4].begin && t < r[4].end; ++c) {
                body(n, row, t, c);
            }
        });
    }
};

struct combine_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        const Real* const gates = s.value(s.input(0));
        const Real* const x = s.value(s.input(2));
        Real* const y = s.value(s.output());
        s.fill(s.output(), Real(0));
        each(s, [&](index_t n, index_t e, index_t row, index_t t, index_t c) {
            y[place_in(s.call.value[s.output()].region, n, t, c)] +=
                gates[place_in(s.call.value[s.input(0)].region, n, t, e)] *
                x[place_in(s.call.value[s.input(2)].region, n, row, c)];
        });
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        const bool of_gates = o == s.input(0);
        const int other = s.input(of_gates ? 2 : 0);
        const Real* const factor = s.value(other);
        const Real* const dy = s.gradient(s.output());
        Real* const to = s.gradient(o);
        each(s, [&](index_t n, index_t e, index_t row, index_t t, index_t c) {
            const box& read = s.call.value[other].region;
            const box& written = s.call.gradient[o].region;
            to[of_gates ? place_in(written, n, t, e) : place_in(written, n, row, c)] +=
                factor[of_gates ? place_in(read, n, row, c) : place_in(read, n, t, e)] *
                dy[place_in(s.call.gradient[s.output()].region, n, t, c)];
        });
    }

private:
    template <class Real, class Body>
    static void each(const shard<Real>& s, const Body& body) {
        const interval* const r = s.call.ranges; // samples, tokens, channels, experts, slots
        for_each_filled(s, r[3], [&](index_t n, index_t e, index_t row, index_t t) {
            for (index_t c = r[2].begin; c < r[2].end && t >= r[1].begin && t < r[1].end; ++c) {
                body(n, e, row, t, c);
            }
        });
    }
};

struct routed_linear_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        const Real* const x = s.value(s.input());
        const Real* const w = s.value(s.parameter(0));
        Real* const y = s.value(s.output());
        s.fill(s.output(), Real(0));
        each(s, [&](index_t n, index_t e, index_t row, index_t o, index_t i) {
            y[place_in(s.call.value[s.output()].region, n, row, o)] +=
                x[place_in(s.call.value[s.input()].region, n, row, i)] *
                w[place_in(s.call.value[s.parameter(0)].region, e, o, i)];
        });
    }
    template <class Real>
    static void backward(const shard<Real>& s, int which) {
        const bool of_weights = which == s.parameter(0);
        const int other = of_weights ? s.input() : s.parameter(0);
        const Real* const factor = s.value(other);
        const Real* const dy = s.gradient(s.output());
        Real* const to = s.gradient(which);
        each(s, [&](index_t n, index_t e, index_t row, index_t o, index_t i) {
            const box& read = s.call.value[other].region;
            const box& written = s.call.gradient[which].region;
            to[of_weights ? place_in(written, e, o, i) : place_in(written, n, row, i)] +=
                factor[of_weights ? place_in(read, n, row, i) : place_in(read, e, o, i)] *
                dy[place_in(s.call.gradient[s.output()].region, n, row, o)];
        });
    }

private:
    template <class Real, class Body>
    static void each(const shard<Real>& s, const Body& body) {
        const interval* const r = s.call.ranges; // samples, experts, slots, outputs, inputs
        for_each_filled(s, r[1], [&](index_t n, index_t e, index_t row, index_t) {
            for (index_t o = r[3].begin; o < r[3].end; ++o) {
                for (index_t i = r[4].begin; i < r[4].end; ++i) {
                    body(n, e, row, o, i);
                }
            }
        });
    }
};

} // namespace detail

inline constexpr row_list routing_rows{
    row<op::token_slots_record, detail::token_slots_loops>{},
    row<op::keep_top_record, detail::keep_top_loops>{},
    row<op::dispatch_tokens_record, detail::dispatch_loops>{},
    row<op::combine_tokens_record, detail::combine_loops>{},
    row<op::routed_linear_record, detail::routed_linear_loops>{},
};

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
