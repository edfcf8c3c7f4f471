// SPDX-License-Identifier: Apache-2.0
// Root mean square normalization (Zhang and Sennrich 2019, "Root Mean Square Layer Normalization"): x[N,C] or x[N,T,C], gamma[C] -> y like x.
#pragma once

#include "tessera/op/nest/record.hpp"

namespace tessera::op {

struct rms_norm_attributes {
    double epsilon = 1e-5; ///< added to the mean of squares
};

struct rms_norm_body : expression::functions, nests::names {
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

inline constexpr op_record rms_norm_record = nests::record<rms_norm_body>("rms_norm");

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::rms_norm{&op::rms_norm_record};

/// rms_norm<frozen>: over the channels, [N,C] or [N,T,C].
template <class... Options>
struct rms_norm : detail::layer_with<op_kind::rms_norm, op::rms_norm_attributes, Options...> {};

} // namespace tessera
