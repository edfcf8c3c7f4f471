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

constexpr inferred infer_cross_entropy(const shape& x, const shape& labels) {
    if (x.rank != 2 && x.rank != 4) {
        return refuse(rule::input_has_wrong_rank, x.rank, 2);
    }
    const shape rows = x.rank == 2 ? make_shape(x[0]) : make_shape(x[0], x[2], x[3]);
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
    for (int k = 1; k < count; ++k) {
        if (inputs[k].rank != out.rank) {
            return refuse(a.kind == op_kind::concat ? rule::concat_shapes_differ : rule::shapes_differ, inputs[k].rank,
                          out.rank);
        }
        for (int d = 0; d < out.rank; ++d) {
            const bool free = a.kind == op_kind::concat && d == 1;
            if (!free && inputs[k][d] != out[d]) {
                return refuse(a.kind == op_kind::concat ? rule::concat_shapes_differ : rule::shapes_differ,
                              inputs[k][d], out[d], static_cast<int>(op::dimension_name(d)));
            }
        }
        if (a.kind == op_kind::concat) {
            out.extent[1] += inputs[k][1];
        }
    }
    return {{}, out};
}

} // namespace detail

/// The number of inputs that an operator takes; 0 means two or more.
constexpr int input_count(op_kind kind) {
    switch (kind) {
    case op_kind::add:
    case op_kind::multiply:
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
        if (x.rank != 2) {
            return detail::refuse(rule::input_has_wrong_rank, x.rank, 2);
        }
        return a.out < 1 ? detail::refuse(rule::extent_is_zero, a.out, 1) : inferred{{}, make_shape(x[0], a.out)};
    case op_kind::flatten:
        return x.rank >= 2 && x.rank <= 4 ? inferred{{}, make_shape(x[0], x.volume() / x[0])}
                                          : detail::refuse(rule::input_has_wrong_rank, x.rank, 4);
    case op_kind::cross_entropy:
        return detail::infer_cross_entropy(x, inputs[1]);
    case op_kind::channel_dropout:
    case op_kind::dropout:
        if (a.percent < 0 || a.percent > 99) {
            return detail::refuse(rule::percent_out_of_range, a.percent, 99);
        }
        return detail::infer_joint(a, inputs, count);
    default:
        return detail::infer_joint(a, inputs, count);
    }
}

} // namespace tessera
