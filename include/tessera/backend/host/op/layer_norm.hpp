// SPDX-License-Identifier: Apache-2.0
// Layer normalization.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/row_norm.hpp"
#include "tessera/op/layer_norm.hpp"

namespace tessera::host {

namespace detail {

/// A row's elements are its channels.
norm_rows layer_norm_rows_of(const compute_call& c);

} // namespace detail

inline constexpr row_list layer_norm_rows{
    row<op::layer_norm_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_in_plain,
            .make_job = detail::make<row_norm_job<detail::layer_norm_rows_of, 1>>,
            .why = "oneDNN's has no partial sums, which a split of the channels leaves",
        };
    }),
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/layer_norm.inl"
#endif

#include "tessera/base/end_header.inl"
