// SPDX-License-Identifier: Apache-2.0
// Data sets and their batches under the views of range-v3: set.batches(64) | ranges::views::take(10), set |
// ranges::views::filter(...).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/data/batches.hpp"

#include <range/v3/range/concepts.hpp>

namespace ranges {

/// A copy of it goes through the same batches and shares their samples.
template <class Element>
inline constexpr bool enable_view<tessera::io::basic_batch_range<Element>> = true;

} // namespace ranges

namespace tessera::io {

static_assert(ranges::input_range<batch_range> && ranges::view_<batch_range> && ranges::viewable_range<batch_range>);
static_assert(ranges::input_range<token_range> && ranges::view_<token_range> && ranges::viewable_range<token_range>);
static_assert(ranges::random_access_range<const sample_set> && ranges::sized_range<const sample_set>);
static_assert(ranges::random_access_range<const token_set> && ranges::sized_range<const token_set>);

} // namespace tessera::io

#include "tessera/base/end_header.inl"
