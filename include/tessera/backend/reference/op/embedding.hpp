// SPDX-License-Identifier: Apache-2.0
// Look-ups of rows, and tables of positions.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/loops.hpp"
#include "tessera/backend/reference/op/row.hpp"

namespace tessera::reference {

namespace detail {

/// Calls body(element of the table, element of y, distance of each) for the rows of the tokens that lie in the shard's
/// part of the table.
template <class Real, class Body>
void for_each_look_up(const shard<Real>& s, const cursor& table_at, const cursor& y_at, Body&& body) {
    const int tokens = s.input();
    const int vocabulary = s.d.find_loop(loop_name::reduction);
    const interval rows = s.call.ranges[vocabulary];
    const std::int32_t* const token = s.template value<std::int32_t>(tokens);
    s.walk_over(s.output_loops(), 0, {s.value_at(tokens), table_at, y_at}, [&](const auto& r) {
        const index_t row = token[r.at[0]]; // the innermost loop is the channels
        if (row >= rows.begin && row < rows.end) {
            const index_t first = r.at[1] + row * table_at.step[vocabulary];
            for (index_t i = 0; i < r.count; ++i) {
                body(first + i * r.step[1], r.at[2] + i * r.step[2]);
            }
        }
    });
}

template <class Real>
void look_up(const shard<Real>& s) {
    const Real* const table = s.value(s.parameter(0));
    Real* const py = s.value(s.output());
    s.fill(s.output(), Real(0));
    for_each_look_up(s, s.value_at(s.parameter(0)), s.value_at(s.output()),
                     [&](index_t from, index_t to) { py[to] = table[from]; });
}

template <class Real>
void look_up_gradient(const shard<Real>& s, int o) {
    const Real* const dy = s.gradient(s.output());
    Real* const to = s.gradient(o);
    for_each_look_up(s, s.gradient_at(o), s.gradient_at(s.output()),
                     [&](index_t row, index_t from) { to[row] += dy[from]; });
}

/// The place of a position's row, also in a table of more rows than there are positions, of which the shard has all.
template <class Real>
cursor row_at(const shard<Real>& s, cursor at, const box& region) {
    if (s.d.operands[s.parameter(0)].dim[0].all) {
        at.step[s.d.find_loop(loop_name::position)] = stride_in(region, 0);
    }
    return at;
}

template <class Real>
void add_table(const shard<Real>& s) {
    const int o = s.parameter(0);
    const Real* const px = s.value(s.input());
    const Real* const table = s.value(o);
    Real* const py = s.value(s.output());
    const cursor rows = row_at(s, s.value_at(o), s.call.value[o].region);
    s.walk({s.value_at(s.input()), rows, s.value_at(s.output())}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            py[r.at[2] + i * r.step[2]] = px[r.at[0] + i * r.step[0]] + table[r.at[1] + i * r.step[1]];
        }
    });
}

/// Of rows behind the last position it is 0.
template <class Real>
void add_table_gradient(const shard<Real>& s, int o) {
    const Real* const dy = s.gradient(s.output());
    Real* const to = s.gradient(o);
    const bool table = o == s.parameter(0);
    const cursor at = table ? row_at(s, s.gradient_at(o), s.call.gradient[o].region) : s.gradient_at(o);
    s.walk({s.gradient_at(s.output()), at}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            to[r.at[1] + i * r.step[1]] += dy[r.at[0] + i * r.step[0]];
        }
    });
}

struct embedding_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        look_up(s);
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        look_up_gradient(s, o);
    }
};

struct position_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        add_table(s);
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        add_table_gradient(s, o);
    }
};

} // namespace detail

inline constexpr row_list embedding_rows{
    row<op::embedding_record, detail::embedding_loops>{},
    row<op::position_embedding_record, detail::position_loops>{},
};

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
