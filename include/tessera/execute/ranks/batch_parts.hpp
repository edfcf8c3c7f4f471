// SPDX-License-Identifier: Apache-2.0
// Which samples of a batch the devices of a process read.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/ranks/processes.hpp"
#include "tessera/plan/plan.hpp"

#include <string>

namespace tessera::detail {

/// Throws tessera::error where a device reads samples of a batch that are not in its process's part: of n samples that
/// of rank r is even_part(n, ranks, r). The same in every process of the group, or with null in the only one.
void require_own_samples(const plan& p, const process_group* group, index_t samples);

} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/execute/ranks/batch_parts.inl"
#endif

#include "tessera/base/end_header.inl"
