// SPDX-License-Identifier: Apache-2.0
// Checks of order: no deadlock, no race, nothing read before it is written, no memory used twice at a time.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/plan/verify/order.inl"
#endif

#include "tessera/base/end_header.inl"
