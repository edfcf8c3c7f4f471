// SPDX-License-Identifier: Apache-2.0
// Checks that every index is one, that copies cover their targets and that sums have every part once.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/plan/verify/structure.inl"
#endif

#include "tessera/base/end_header.inl"
