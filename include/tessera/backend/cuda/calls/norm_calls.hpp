// SPDX-License-Identifier: Apache-2.0
// Squares of whole parameters, which scale the steps of LARS and LAMB, as calls.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/message_calls.hpp"

namespace tessera::cuda::detail {

/// The squares that scale a parameter's steps, of each of a task's parameters.
void compose_norm(composer& to, const graph_view& g, const optimizer& update);

} // namespace tessera::cuda::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/calls/norm_calls.inl"
#endif

#include "tessera/base/end_header.inl"
