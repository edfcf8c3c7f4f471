// SPDX-License-Identifier: Apache-2.0
// Root mean square normalization (Zhang and Sennrich 2019, "Root Mean Square Layer Normalization"): x[N,C] or x[N,T,C],
// gamma[C] -> y like x.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/nest/record.hpp"

namespace tessera::op {

struct rms_norm_attributes {
    double epsilon = 1e-5; ///< added to the mean of squares
    static constexpr attribute_field fields[] = {number_field("epsilon")};
};

struct rms_norm_body : expression::functions, nests::names {
    static constexpr const char* name = "rms_norm";
    using options = rms_norm_attributes;
    static constexpr int ranks[] = {2, 3};

    static constexpr void body(auto& w, const options& a) {
        const auto all = w.dimensions();
        const auto c = all.last();
        const auto x = w.input(all);
        const auto gamma = w.parameter(ones, c);
        const auto epsilon = w.number(a.epsilon);
        w.output(all) = x * rsqrt(w.mean(c, x * x) + epsilon) * gamma;
    }
};

} // namespace tessera::op

namespace tessera {

/// rms_norm<frozen>: over the channels, [N,C] or [N,T,C].
template <class... Options>
struct rms_norm : detail::generated_layer<op::rms_norm_body, Options...> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
