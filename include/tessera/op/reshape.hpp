// SPDX-License-Identifier: Apache-2.0
// The same elements in the same order, with other extents.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/move.hpp"

namespace tessera::op {

struct reshape_attributes {
    index_t extent[max_rank - 1] = {}; ///< of the output without its samples; one of them may be -1: what is left
    index_t rank = 0;                  ///< how many are said
    static constexpr attribute_field fields[] = {{"extent", max_rank - 1, -1}, {"rank", 1, 0, max_rank - 1}};
};

constexpr inferred infer_reshape(const reshape_attributes& a, const shape& x) {
    const int rank = static_cast<int>(a.rank) + 1;
    if (x.rank < 2 || x.rank > max_rank || rank < 2 || rank > max_rank) {
        return detail::refuse(rule::input_has_wrong_rank, x.rank, x.rank < 2 ? 2 : max_rank);
    }
    inferred r;
    r.output.rank = rank;
    r.output.extent[0] = x[0];
    constexpr index_t most = index_t{1} << 48; // of elements, see rule::extent_too_large
    const index_t all = x.volume() / x[0];
    index_t said = 1;
    int open = -1;
    for (int d = 1; d < rank; ++d) {
        const index_t extent = a.extent[d - 1];
        if (extent == -1 && open < 0) {
            open = d;
            continue;
        }
        if (extent < 1) {
            return detail::refuse(rule::extent_is_zero, extent, 1, name_of_dimension(d, rank));
        }
        r.output.extent[d] = extent;
        said = extent > most / said ? most : said * extent;
    }
    if (open >= 0) {
        r.output.extent[open] = all / said;
    }
    if (open >= 0 ? said > all || all % said != 0 : said != all) {
        return detail::refuse(rule::reshape_of_other_elements, said, all);
    }
    return r;
}

/// Calls found(factor, d, step of it in x's dimension d, is it d's major one, k, step in y's dimension k, is it k's
/// major one) for the factors that x's dimensions [d, d_end) and y's [k, k_end), with as many elements, are made of,
/// from the left. False where neither of two extents divides the other.
template <class Found>
constexpr bool common_factors(const shape& x, int d, int d_end, const shape& y, int k, int k_end, const Found& found) {
    index_t left_x = d < d_end ? x[d] : 1;
    index_t left_y = k < k_end ? y[k] : 1;
    while (true) {
        if (left_x == 1 && d + 1 < d_end) {
            left_x = x[++d];
        } else if (left_y == 1 && k + 1 < k_end) {
            left_y = y[++k];
        } else if (left_x == 1 && left_y == 1) {
            return true;
        } else {
            const index_t factor = left_x < left_y ? left_x : left_y;
            if (left_x % factor != 0 || left_y % factor != 0) {
                return false;
            }
            found(factor, d, left_x / factor, left_x == x[d], k, left_y / factor, left_y == y[k]);
            left_x /= factor;
            left_y /= factor;
        }
    }
}

/// A loop is a factor of an extent of the input and of one of the output. Split may be a loop that is the major one of
/// its dimension on both sides, so that its shards are the same elements in the same order in boxes of both. Where
/// neither of two extents divides the other, no affine index says which elements meet: such dimensions stay whole.
constexpr description describe_reshape(const reshape_attributes& a, const shape& x) {
    const shape y = infer_reshape(a, x).output;
    detail::describer w;
    affine from[max_rank];
    affine to[max_rank];
    from[0] = to[0] = w.at(w.add_loop(loop_name::sample, x[0]));
    int d = 1;
    int k = 1;
    while (d < x.rank || k < y.rank) { // the next dimensions that have as many elements on both sides
        int d_end = d;
        int k_end = k;
        index_t in_x = d < x.rank ? x[d_end++] : 1;
        index_t in_y = k < y.rank ? y[k_end++] : 1;
        while (in_x != in_y) {
            in_x < in_y ? in_x *= x[d_end++] : in_y *= y[k_end++];
        }
        const bool divides = common_factors(x, d, d_end, y, k, k_end, [](auto...) {});
        if (divides) {
            common_factors(
                x, d, d_end, y, k, k_end,
                [&](index_t factor, int dx, index_t step_x, bool major_x, int dy, index_t step_y, bool major_y) {
                    const loop_name name = major_y ? dimension_name(dy, y.rank) : loop_name::factor;
                    const int l = w.add_loop(name, factor, !(major_x && major_y));
                    from[dx].terms.push_back({l, step_x});
                    to[dy].terms.push_back({l, step_y});
                });
        } else {
            for (int i = d; i < d_end; ++i) {
                from[i] = w.everything();
            }
            for (int i = k; i < k_end; ++i) {
                to[i] = w.at(w.add_loop(dimension_name(i, y.rank), y[i], true));
            }
        }
        d = d_end;
        k = k_end;
    }
    const int input = w.add_operand(operand_kind::input, 0);
    for (int i = 0; i < x.rank; ++i) {
        w.index(input, x[i], from[i]);
    }
    const int output = w.add_operand(operand_kind::output, 0);
    for (int i = 0; i < y.rank; ++i) {
        w.index(output, y[i], to[i]);
    }
    w.d.linear = true;
    w.add_nest(w.all_loops(), bit(input), output, reducer::none, 0);
    return w.d;
}

inline constexpr op_record reshape_record{
    .name = "reshape",
    .infer = [](const op_attributes& a, const shape* x, int) { return infer_reshape(a.as<reshape_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_reshape(a.as<reshape_attributes>(), *x); },
    .facts = {.view = true, .passes_gradient = true},
    .own = list_of<reshape_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::reshape{&op::reshape_record};

/// reshape<16, -1>: [N,..] -> [N,16,..]. The extents behind the samples; one of them may be -1, which is what is left.
/// Nothing moves: the output is its input by another name.
template <index_t... Extents>
struct reshape {
    static_assert(sizeof...(Extents) > 0 && sizeof...(Extents) < max_rank,
                  "tessera: a reshape says 1 to 4 extents, without that of the samples");
    static constexpr op_attributes attributes =
        attributes_of(op_kind::reshape, op::reshape_attributes{{Extents...}, sizeof...(Extents)});
};

} // namespace tessera

#include "tessera/base/end_header.inl"
