// SPDX-License-Identifier: Apache-2.0
// Fully connected layer: x[N,I] or x[N,T,I], w[O,I], b[O] -> y[N,O] or y[N,T,O].
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/options.hpp"
#include "tessera/op/record.hpp"

namespace tessera::op {

struct linear_attributes {
    index_t out = 0;   ///< features
    flag bias = false; ///< adds one number per output feature
    static constexpr attribute_field fields[] = {{"out", 1, 1}, flag_field("bias")};
};

constexpr description describe_linear(const linear_attributes& a, const shape& x) {
    detail::describer w;
    const index_t features = x[x.rank - 1];
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int t = x.rank == 3 ? w.add_loop(loop_name::position, x[1]) : -1;
    const int o = w.add_loop(loop_name::channel, a.out);
    const int i = w.add_loop(loop_name::reduction, features);
    const auto row = [&](int which) {
        w.index(which, x[0], n);
        if (t >= 0) {
            w.index(which, x[1], t);
        }
    };
    const int input = w.add_operand(operand_kind::input, 0);
    row(input);
    w.index(input, features, i);
    const int weight = w.add_operand(operand_kind::parameter, 0);
    w.index(weight, a.out, o);
    w.index(weight, features, i);
    const std::uint32_t bias = w.add_bias(a.bias, a.out, w.at(o));
    const int output = w.add_operand(operand_kind::output, 0);
    row(output);
    w.index(output, a.out, o);
    w.add_product(input, weight, output, bias);
    return w.d;
}

constexpr inferred infer_linear(const linear_attributes& a, const shape& x) {
    if (x.rank != 2 && x.rank != 3) {
        return detail::refuse(rule::input_has_wrong_rank, x.rank, 2);
    }
    if (a.out < 1) {
        return detail::refuse(rule::extent_is_zero, a.out, 1);
    }
    return {{}, x.rank == 2 ? make_shape(x[0], a.out) : make_shape(x[0], x[1], a.out)};
}

inline constexpr op_record linear_record{
    .name = "linear",
    .infer = [](const op_attributes& a, const shape* x, int) { return infer_linear(a.as<linear_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_linear(a.as<linear_attributes>(), *x); },
    .facts = {.work = work_kind::matrix_product},
    .own = list_of<linear_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::linear{&op::linear_record};

/// linear<output features, no_bias, frozen>: [N,I] -> [N,Out], or [N,T,I] -> [N,T,Out].
template <index_t Out, class... Options>
struct linear {
    static constexpr op_attributes attributes =
        detail::make_attributes<op_kind::linear, Options...>(op::linear_attributes{.out = Out, .bias = true});
};

} // namespace tessera

#include "tessera/base/end_header.inl"
