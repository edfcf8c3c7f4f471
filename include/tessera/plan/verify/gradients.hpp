// SPDX-License-Identifier: Apache-2.0
// Checks that a parameter's update uses the sum of every contribution to its gradient exactly once, whatever way the
// sum takes.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/plan/verify/gradients.inl"
#endif

#include "tessera/base/end_header.inl"
