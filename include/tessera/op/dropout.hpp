// SPDX-License-Identifier: Apache-2.0
// Dropout of elements, of whole channels and of whole samples (Srivastava et al. 2014; Tompson et al. 2015; Huang et
// al. 2016, "Deep networks with stochastic depth", arXiv 1603.09382): which, see op/mask.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

/// What is dropped as one.
enum class dropped_unit : std::uint8_t { element, channel, sample };

struct dropout_attributes {
    index_t percent = 0; ///< how many per cent of the values are dropped
    static constexpr attribute_field fields[] = {{"percent", 1, 0, 99}};
};

constexpr inferred infer_dropout(const op_attributes& a, const shape* x, int count) {
    const index_t percent = a.as<dropout_attributes>().percent;
    if (percent < 0 || percent > 99) {
        return detail::refuse(rule::percent_out_of_range, percent, 99);
    }
    return infer_alike(x, count);
}
constexpr inferred infer_channel_dropout(const op_attributes& a, const shape* x, int count) {
    return x->rank == 3 ? detail::refuse(rule::input_has_wrong_rank, 3, 4) : infer_dropout(a, x, count);
}
constexpr description describe_dropout(const op_attributes&, const shape* x, int) {
    return as_linear(describe_elementwise(*x, 1, 1));
}

inline constexpr op_record dropout_record{
    .name = "dropout",
    .infer = infer_dropout,
    .describe = describe_dropout,
    .own = list_of<dropout_attributes>(),
};
inline constexpr op_record channel_dropout_record{
    .name = "channel_dropout",
    .infer = infer_channel_dropout,
    .describe = describe_dropout,
    .own = list_of<dropout_attributes>(),
};

inline constexpr op_record stochastic_depth_record{
    .name = "stochastic_depth",
    .infer = infer_dropout,
    .describe = describe_dropout,
    .own = list_of<dropout_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::dropout{&op::dropout_record};
inline constexpr op_kind op_kind::channel_dropout{&op::channel_dropout_record};
inline constexpr op_kind op_kind::stochastic_depth{&op::stochastic_depth_record};

/// Drops elements, and scales the others up; which ones is a function of the global index, the layer, the seed and the
/// step.
template <int Percent>
struct dropout : detail::layer_with<op_kind::dropout, op::dropout_attributes, percent<Percent>> {};
/// Drops whole channels of a sample.
template <int Percent>
struct channel_dropout : detail::layer_with<op_kind::channel_dropout, op::dropout_attributes, percent<Percent>> {};

/// Drops whole samples, and scales the others up: at the end of a residual's branch, residual<conv, norm,
/// stochastic_depth<10>>, a sample goes round the branch with a probability of Percent per cent.
template <int Percent>
struct stochastic_depth : detail::layer_with<op_kind::stochastic_depth, op::dropout_attributes, percent<Percent>> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
