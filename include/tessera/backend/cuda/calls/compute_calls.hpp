// SPDX-License-Identifier: Apache-2.0
// A compute task as calls: those of its operator's row.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/update.hpp"
#include "tessera/backend/cuda/op/table.hpp"
#include "tessera/plan/loss_rows.hpp"

namespace tessera::cuda::detail {

/// Adds the losses that are not finite to the device's count, or begins it.
void count_not_finite(composer& to, const graph_view& g);

/// Puts the calls of a compute task into `to`.
void compose_compute(composer& to, const graph_view& g, algorithm_table& algorithms);

} // namespace tessera::cuda::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/calls/compute_calls.inl"
#endif

#include "tessera/base/end_header.inl"
