// SPDX-License-Identifier: Apache-2.0
// Rows taken and put together by index.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/op/row.hpp"
#include "tessera/backend/reference/shard.hpp"
#include "tessera/base/finite.hpp"

#include <cmath>
#include <vector>

namespace tessera::reference {

namespace detail {

/// A dense [N,T,C] or [N,T] over a region, by global indices.
struct rows_in {
    const box* region;

    index_t at(index_t n, index_t t, index_t c = 0) const;
};

struct gather_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        const Real* const x = s.value(s.input());
        Real* const y = s.value(s.output());
        const rows_in from{&s.call.value[s.input()].region};
        const rows_in to{&s.call.value[s.output()].region};
        s.fill(s.output(), Real(0));
        each(s, [&](index_t n, index_t k, index_t t, const interval& channels) {
            for (index_t c = channels.begin; c < channels.end; ++c) {
                y[to.at(n, k, c)] = x[from.at(n, t, c)];
            }
        });
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        const Real* const dy = s.gradient(s.output());
        Real* const dx = s.gradient(o);
        const rows_in from{&s.call.gradient[s.output()].region};
        const rows_in to{&s.call.gradient[o].region};
        each(s, [&](index_t n, index_t k, index_t t, const interval& channels) {
            for (index_t c = channels.begin; c < channels.end; ++c) {
                dx[to.at(n, t, c)] += dy[from.at(n, k, c)];
            }
        });
    }

private:
    /// Calls body(n, k, t, channels) for the indices that lie in the shard's part of x.
    template <class Real, class Body>
    static void each(const shard<Real>& s, const Body& body) {
        const std::int32_t* const index = s.template value<std::int32_t>(s.input(1));
        const rows_in of{&s.call.value[s.input(1)].region};
        const interval* const r = s.call.ranges;
        for (index_t n = r[0].begin; n < r[0].end; ++n) {
            for (index_t k = r[1].begin; k < r[1].end; ++k) {
                const index_t t = index[of.at(n, k)];
                if (t >= r[3].begin && t < r[3].end) {
                    body(n, k, t, r[2]);
                }
            }
        }
    }
};

struct scatter_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        const index_t how = s.call.attributes.template as<op::scatter_attributes>().how;
        const Real* const x = s.value(s.input());
        Real* const y = s.value(s.output());
        const rows_in from{&s.call.value[s.input()].region};
        const rows_in to{&s.call.value[s.output()].region};
        s.fill(s.output(), Real(0));
        each(s, [&](index_t n, index_t c, index_t slot, const std::vector<index_t>& members) {
            Real& out = y[to.at(n, slot, c)];
            out = how == op::scatter_attributes::max ? x[from.at(n, members[largest(members, x, from, n, c)], c)] : 0;
            for (std::size_t i = 0; how != op::scatter_attributes::max && i < members.size(); ++i) {
                out += x[from.at(n, members[i], c)];
            }
            out /= how == op::scatter_attributes::mean ? static_cast<Real>(members.size()) : Real(1);
        });
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        const index_t how = s.call.attributes.template as<op::scatter_attributes>().how;
        const bool by_value = how == op::scatter_attributes::max;
        const Real* const x = by_value ? s.value(o) : nullptr;
        const Real* const dy = s.gradient(s.output());
        Real* const dx = s.gradient(o);
        const rows_in values{&s.call.value[o].region};
        const rows_in from{&s.call.gradient[s.output()].region};
        const rows_in to{&s.call.gradient[o].region};
        each(s, [&](index_t n, index_t c, index_t slot, const std::vector<index_t>& members) {
            const Real own = dy[from.at(n, slot, c)];
            if (by_value) {
                dx[to.at(n, members[largest(members, x, values, n, c)], c)] += own;
                return;
            }
            for (const index_t t : members) {
                dx[to.at(n, t, c)] +=
                    how == op::scatter_attributes::mean ? own / static_cast<Real>(members.size()) : own;
            }
        });
    }

private:
    /// The first of the largest; the first NaN, if there is one.
    template <class Real>
    static std::size_t largest(const std::vector<index_t>& members, const Real* x, const rows_in& rows, index_t n,
                               index_t c) {
        std::size_t best = 0;
        for (std::size_t i = 1; i < members.size(); ++i) {
            const Real a = x[rows.at(n, members[i], c)];
            const Real b = x[rows.at(n, members[best], c)];
            best = a > b || (is_nan(a) && !is_nan(b)) ? i : best;
        }
        return best;
    }
    /// Calls body(n, c, slot, its rows of x) for the shard's slots that have any.
    template <class Real, class Body>
    static void each(const shard<Real>& s, const Body& body) {
        const std::int32_t* const index = s.template value<std::int32_t>(s.input(1));
        const rows_in of{&s.call.value[s.input(1)].region};
        const interval* const r = s.call.ranges;
        std::vector<index_t> members;
        for (index_t n = r[0].begin; n < r[0].end; ++n) {
            for (index_t slot = r[1].begin; slot < r[1].end; ++slot) {
                members.clear();
                for (index_t t = r[3].begin; t < r[3].end; ++t) {
                    if (index[of.at(n, t)] == slot) {
                        members.push_back(t);
                    }
                }
                for (index_t c = r[2].begin; c < r[2].end && !members.empty(); ++c) {
                    body(n, c, slot, members);
                }
            }
        }
    }
};

} // namespace detail

inline constexpr row_list index_rows{
    row<op::gather_rows_record, detail::gather_loops>{},
    row<op::scatter_rows_record, detail::scatter_loops>{},
};

} // namespace tessera::reference

#ifndef TESSERA_COMPILED
#include "tessera/backend/reference/op/gather.inl"
#endif

#include "tessera/base/end_header.inl"
