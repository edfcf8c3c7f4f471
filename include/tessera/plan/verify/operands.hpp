// SPDX-License-Identifier: Apache-2.0
// Checks that a computation reads and writes the tiles that its operator's description asks for, and no others.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/plan/verify/operands.inl"
#endif

#include "tessera/base/end_header.inl"
