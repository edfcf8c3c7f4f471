// SPDX-License-Identifier: Apache-2.0
// The shape of an operator's output, or the rule that its inputs break.
#pragma once

#include "tessera/base/rules.hpp"
#include "tessera/op/describe.hpp"

namespace tessera {

struct inferred {
    problem refused; ///< `op` is left to the caller
    shape output;
};

namespace detail {

constexpr inferred refuse(rule broken, index_t found_number, index_t needed_number, int dimension = -1) {
    return {problem{broken, -1, dimension, found_number, needed_number}, {}};
}

constexpr inferred infer_window(const op_attributes& a, const shape& x) {
    if (x.rank != 4) {
        return refuse(rule::input_has_wrong_rank, x.rank, 4);
    }
    for (int d = 0; d < 2; ++d) {
        const int name = static_cast<int>(d == 0 ? loop_name::height : loop_name::width);
        if (a.window[d] < 1 || a.stride[d] < 1 || a.dilation[d] < 1 || a.padding[d] < 0) {
            return refuse(rule::extent_is_zero, 0, 1, name);
        }
        const index_t reach = (a.window[d] - 1) * a.dilation[d] + 1;
        if (reach > x[2 + d] + 2 * a.padding[d]) {
            return refuse(rule::kernel_larger_than_padded_input, reach, x[2 + d] + 2 * a.padding[d], name);
        }
        if (a.padding[d] >= reach) {
            return refuse(rule::padding_not_smaller_than_kernel, a.padding[d], reach, name);
        }
    }
    return {{}, make_shape(x[0], x[1], op::window_output(a, 0, x[2]), op::window_output(a, 1, x[3]))};
}

constexpr int first_difference(const shape& a, const shape& b) {
    for (int d = 0; d < a.rank; ++d) {
        if (a[d] != b[d]) {
            return d;
        }
    }
    return -1;
}

/// The shape of the labels, and of the losses, of logits: all of them but the classes.
constexpr shape rows_of(const shape& logits) {
    return logits.rank == 4   ? make_shape(logits[0], logits[2], logits[3])
           : logits.rank == 3 ? make_shape(logits[0], logits[1])
                              : make_shape(logits[0]);
}

constexpr inferred infer_cross_entropy(const shape& x, const shape& labels) {
    if (x.rank < 2 || x.rank > 4) {
        return refuse(rule::input_has_wrong_rank, x.rank, 2);
    }
    const shape rows = rows_of(x);
    if (labels.rank != rows.rank) {
        return refuse(rule::labels_do_not_fit, labels.rank, rows.rank);
    }
    const int d = first_difference(labels, rows);
    if (d >= 0) {
        return refuse(rule::labels_do_not_fit, labels[d], rows[d]);
    }
    return {{}, rows};
}

constexpr inferred infer_joint(const op_attributes& a, const shape* inputs, int count) {
    shape out = inputs[0];
    if (out.rank < 2 || out.rank > 4) {
        return refuse(rule::input_has_wrong_rank, out.rank, 4);
    }
    const int axis = op::axis_of(a, out.rank);
    if (axis >= out.rank) {
        return refuse(rule::input_has_wrong_rank, out.rank, axis + 1);
    }
    for (int k = 1; k < count; ++k) {
        if (inputs[k].rank != out.rank) {
            return refuse(a.kind == op_kind::concat ? rule::concat_shapes_differ : rule::shapes_differ, inputs[k].rank,
                          out.rank);
        }
        for (int d = 0; d < out.rank; ++d) {
            const bool free = a.kind == op_kind::concat && d == axis;
            if (!free && inputs[k][d] != out[d]) {
                return refuse(a.kind == op_kind::concat ? rule::concat_shapes_differ : rule::shapes_differ,
                              inputs[k][d], out[d], static_cast<int>(op::dimension_name(d, out.rank)));
            }
        }
        if (a.kind == op_kind::concat) {
            out.extent[axis] += inputs[k][axis];
        }
    }
    return {{}, out};
}

/// Ranks from `least` to `most`, and a minimum of 1 for what has to be positive.
constexpr inferred infer_rank(const shape& x, int least, int most, index_t positive = 1) {
    if (x.rank < least || x.rank > most) {
        return refuse(rule::input_has_wrong_rank, x.rank, x.rank < least ? least : most);
    }
    return positive < 1 ? refuse(rule::extent_is_zero, positive, 1) : inferred{{}, x};
}

constexpr inferred infer_matmul(const op_attributes& a, const shape& x, const shape& y) {
    if (a.heads < 1) {
        return refuse(rule::extent_is_zero, a.heads, 1);
    }
    const int second = a.heads > 1 ? 3 : x.rank;
    if (x.rank < 3 || x.rank > 4 || y.rank != second) {
        return refuse(rule::input_has_wrong_rank, x.rank < 3 || x.rank > 4 ? x.rank : y.rank, x.rank < 3 ? 3 : second);
    }
    const shape sides[] = {x, y};
    for (const shape& s : sides) {
        const index_t channels = s.rank == 3 ? s[2] : a.heads > 1 ? s[1] : a.heads;
        if (channels % a.heads != 0 || (s.rank == 4 && channels != a.heads)) {
            return refuse(rule::heads_do_not_divide_channels, channels, a.heads);
        }
    }
    if (x[0] != y[0]) {
        return refuse(rule::shapes_differ, y[0], x[0], static_cast<int>(loop_name::sample));
    }
    if (a.heads == 1 && x.rank == 4 && x[1] != y[1]) {
        return refuse(rule::shapes_differ, y[1], x[1], static_cast<int>(loop_name::channel));
    }
    const op::product_extents e(a, x, y);
    if (e.summed[0] != e.summed[1]) {
        return refuse(rule::inner_extents_differ, e.summed[1], e.summed[0], static_cast<int>(loop_name::reduction));
    }
    if (a.heads > 1 && x.rank == 4) {
        return {{}, make_shape(x[0], e.rows, a.heads * e.columns)};
    }
    return {{},
            a.heads > 1 || x.rank == 4 ? make_shape(x[0], a.heads > 1 ? a.heads : x[1], e.rows, e.columns)
                                       : make_shape(x[0], e.rows, e.columns)};
}

constexpr inferred infer_slice(const op_attributes& a, const shape& x) {
    inferred r = infer_rank(x, 2, 4, a.out);
    const int axis = op::axis_of(a, x.rank);
    if (r.refused || axis >= x.rank) {
        return r.refused ? r : refuse(rule::input_has_wrong_rank, x.rank, axis + 1);
    }
    if (a.begin < 0 || a.begin + a.out > x[axis]) {
        return refuse(rule::slice_outside_input, a.begin + a.out, x[axis],
                      static_cast<int>(op::dimension_name(axis, x.rank)));
    }
    r.output.extent[axis] = a.out;
    return r;
}

constexpr inferred infer_embedding(const op_attributes& a, const shape& x) {
    const inferred r = infer_rank(x, 1, 2, a.out < a.vocabulary ? a.out : a.vocabulary);
    return r.refused ? r : inferred{{}, x.rank == 1 ? make_shape(x[0], a.out) : make_shape(x[0], x[1], a.out)};
}

constexpr inferred infer_transposed(const op_attributes& a, const shape& x) {
    if (x.rank != 4) {
        return refuse(rule::input_has_wrong_rank, x.rank, 4);
    }
    if (a.out < 1) {
        return refuse(rule::extent_is_zero, a.out, 1);
    }
    shape y = make_shape(x[0], a.out, 1, 1);
    for (int d = 0; d < 2; ++d) {
        const int name = static_cast<int>(d == 0 ? loop_name::height : loop_name::width);
        if (a.window[d] < 1 || a.stride[d] < 1 || a.padding[d] < 0) {
            return refuse(rule::extent_is_zero, 0, 1, name);
        }
        if (a.dilation[d] != 1) {
            return refuse(rule::transposed_dilation, a.dilation[d], 1, name);
        }
        if (a.padding[d] >= a.window[d]) {
            return refuse(rule::padding_not_smaller_than_kernel, a.padding[d], a.window[d], name);
        }
        y.extent[2 + d] = op::transposed_output(a, d, x[2 + d]);
        if (y[2 + d] < 1) {
            return refuse(rule::transposed_output_is_empty, y[2 + d], 1, name);
        }
    }
    return a.groups == 1 ? inferred{{}, y} : refuse(rule::groups_do_not_divide_channels, a.groups, 1);
}

constexpr inferred infer_expert_linear(const op_attributes& a, const shape& x) {
    if (x.rank != 3) {
        return refuse(rule::input_has_wrong_rank, x.rank, 3);
    }
    if (a.out < 1 || a.groups < 1) {
        return refuse(rule::extent_is_zero, a.out < 1 ? a.out : a.groups, 1);
    }
    if (x[1] % a.groups != 0) {
        return refuse(rule::experts_do_not_divide_slots, x[1], a.groups, static_cast<int>(loop_name::expert));
    }
    return {{}, make_shape(x[0], x[1], a.out)};
}

constexpr inferred infer_route(const op_attributes& a, const shape& x) {
    const inferred r = infer_rank(x, 3, 3, a.out < a.top ? a.out : a.top);
    if (r.refused) {
        return r;
    }
    return a.top <= x[2] ? inferred{{}, make_shape(x[0], x[1], x[2] * a.out)}
                         : refuse(rule::more_choices_than_experts, a.top, x[2], static_cast<int>(loop_name::expert));
}

} // namespace detail

/// The number of inputs that an operator takes; 0 means two or more.
constexpr int input_count(op_kind kind) {
    switch (kind) {
    case op_kind::add:
    case op_kind::multiply:
    case op_kind::matmul:
    case op_kind::cross_entropy:
        return 2;
    case op_kind::concat:
        return 0;
    default:
        return 1;
    }
}

constexpr inferred infer(const op_attributes& a, const shape* inputs, int count) {
    const int wanted = input_count(a.kind);
    if (wanted == 0 ? count < 2 || count > max_inputs : count != wanted) {
        return detail::refuse(rule::wrong_number_of_inputs, count, wanted == 0 ? 2 : wanted);
    }
    const shape& x = inputs[0];
    for (int d = 0; d < x.rank; ++d) {
        if (x[d] < 1) {
            return detail::refuse(d == 0 ? rule::batch_is_empty : rule::extent_is_zero, x[d], 1);
        }
    }
    switch (a.kind) {
    case op_kind::conv2d: {
        inferred r = detail::infer_window(a, x);
        if (r.refused) {
            return r;
        }
        if (a.out < 1 || a.groups < 1) {
            return detail::refuse(rule::extent_is_zero, a.out < 1 ? a.out : a.groups, 1);
        }
        if (x[1] % a.groups != 0 || a.out % a.groups != 0) {
            return detail::refuse(rule::groups_do_not_divide_channels, x[1] % a.groups != 0 ? x[1] : a.out, a.groups);
        }
        r.output.extent[1] = a.out;
        return r;
    }
    case op_kind::max_pool:
    case op_kind::average_pool:
        return detail::infer_window(a, x);
    case op_kind::global_average_pool:
        return x.rank == 4 ? inferred{{}, make_shape(x[0], x[1])}
                           : detail::refuse(rule::input_has_wrong_rank, x.rank, 4);
    case op_kind::linear:
        if (x.rank != 2 && x.rank != 3) {
            return detail::refuse(rule::input_has_wrong_rank, x.rank, 2);
        }
        if (a.out < 1) {
            return detail::refuse(rule::extent_is_zero, a.out, 1);
        }
        return {{}, x.rank == 2 ? make_shape(x[0], a.out) : make_shape(x[0], x[1], a.out)};
    case op_kind::flatten:
        return x.rank >= 2 && x.rank <= 4 ? inferred{{}, make_shape(x[0], x.volume() / x[0])}
                                          : detail::refuse(rule::input_has_wrong_rank, x.rank, 4);
    case op_kind::cross_entropy:
        return detail::infer_cross_entropy(x, inputs[1]);
    case op_kind::layer_norm:
        return detail::infer_rank(x, 2, 3);
    case op_kind::softmax:
        return detail::infer_rank(x, a.causal ? 3 : 2, 4);
    case op_kind::matmul:
        return detail::infer_matmul(a, x, inputs[1]);
    case op_kind::embedding:
        return detail::infer_embedding(a, x);
    case op_kind::position_embedding:
        return detail::infer_rank(x, 3, 3);
    case op_kind::slice:
        return detail::infer_slice(a, x);
    case op_kind::transposed_conv2d:
        return detail::infer_transposed(a, x);
    case op_kind::expert_linear:
        return detail::infer_expert_linear(a, x);
    case op_kind::route:
        return detail::infer_route(a, x);
    case op_kind::batch_norm:
        return x.rank == 3 ? detail::refuse(rule::input_has_wrong_rank, 3, 4) : detail::infer_rank(x, 2, 4);
    case op_kind::channel_dropout:
    case op_kind::dropout:
        if (a.kind == op_kind::channel_dropout && x.rank == 3) {
            return detail::refuse(rule::input_has_wrong_rank, 3, 4);
        }
        if (a.percent < 0 || a.percent > 99) {
            return detail::refuse(rule::percent_out_of_range, a.percent, 99);
        }
        return detail::infer_joint(a, inputs, count);
    default:
        return detail::infer_joint(a, inputs, count);
    }
}

} // namespace tessera
