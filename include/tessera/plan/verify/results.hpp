// SPDX-License-Identifier: Apache-2.0
// Checks of what a plan makes: outputs, updates, collectives; and that it fits in memory.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/plan/verify/results.inl"
#endif

#include "tessera/base/end_header.inl"
