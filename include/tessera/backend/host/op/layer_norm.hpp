// SPDX-License-Identifier: Apache-2.0
// Layer normalization, and RMS normalization.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/feature_norm.hpp"
#include "tessera/op/layer_norm.hpp"
#include "tessera/op/library.hpp"

namespace tessera::host {

inline constexpr row_list layer_norm_rows{
    row<op::layer_norm_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_in_plain,
            .make_job = detail::make<feature_norm_job<op::layer_norm_attributes, true>>,
            .why = "oneDNN's has no partial sums, which a split of the channels leaves",
        };
    }),
    row<op::rms_norm_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_in_plain,
            .make_job = detail::make<feature_norm_job<op::rms_norm_attributes, false>>,
            .why = "one pass over a row; oneDNN's has no partial sums, which a split of the channels leaves",
        };
    }),
};

} // namespace tessera::host

#include "tessera/base/end_header.inl"
