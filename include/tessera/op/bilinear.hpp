// SPDX-License-Identifier: Apache-2.0
// A bilinear product: x[N,I], z[N,J], W[O,I,J] -> y[N,O], y[n,o] = sum over i and j of x[n,i] W[o,i,j] z[n,j].
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/nest/record.hpp"

namespace tessera::op {

struct bilinear_attributes {
    index_t out = 1;
    static constexpr attribute_field fields[] = {{"out", 1, 1}};
};

struct bilinear_body : expression::functions, nests::names {
    static constexpr const char* name = "bilinear";
    using options = bilinear_attributes;

    static constexpr void body(auto& w, const options& a) {
        const auto [n, i, j] = w.loops(sample, reduction, group_channel);
        const auto o = w.loop(channel, a.out);
        const auto x = w.input(n, i);
        const auto z = w.input(n, j);
        const auto weight = w.parameter(uniform, o, i, j);
        w.output(n, o) = w.sum({i, j}, x * weight * z);
    }
};

} // namespace tessera::op

namespace tessera {

/// bilinear<O>: of two inputs.
template <index_t Out, class... Options>
struct bilinear {
    static constexpr op_attributes attributes =
        detail::generated_attributes<op::bilinear_body, Options...>(op::bilinear_attributes{.out = Out});
};

} // namespace tessera

#include "tessera/base/end_header.inl"
