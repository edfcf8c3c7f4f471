// SPDX-License-Identifier: Apache-2.0
// Checks that every number of a plan is one that it can be: kinds, indices, regions, sizes. All other checks stand on
// these.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/plan/verify/fields.inl"
#endif

#include "tessera/base/end_header.inl"
