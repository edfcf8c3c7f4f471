// SPDX-License-Identifier: Apache-2.0
// Checks that what micro-batches contribute is added once each: gradients of parameters and the statistics of a batch.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/plan/verify/sums.inl"
#endif

#include "tessera/base/end_header.inl"
