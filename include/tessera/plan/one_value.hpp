// SPDX-License-Identifier: Apache-2.0
// Statistics of one value: a variance that says nothing.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/net/paths.hpp"
#include "tessera/plan/call.hpp"

#include <string>

namespace tessera {

/// Refuses a plan for training in which a batch norm takes its statistics over one value for each channel: of one
/// sample, micro-batch or shard without other dimensions. All of it would become beta, whatever came in (PyTorch
/// refuses it, too). Throws tessera::error, which names the layer.
void require_several_values(const plan& p, const graph_view& g);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/one_value.inl"
#endif

#include "tessera/base/end_header.inl"
