// SPDX-License-Identifier: Apache-2.0
// Group normalization.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/row_norm.hpp"
#include "tessera/op/group_norm.hpp"

namespace tessera::host {

namespace detail {

norm_rows group_norm_rows_of(const compute_call& c);

} // namespace detail

inline constexpr row_list group_norm_rows{
    row<op::group_norm_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_in_plain,
            .make_job = detail::make<row_norm_job<detail::group_norm_rows_of>>,
            .why = "oneDNN 2.6 has none",
        };
    }),
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/group_norm.inl"
#endif

#include "tessera/base/end_header.inl"
