// SPDX-License-Identifier: Apache-2.0
// Checks that statistics which every shard of samples takes by itself are those of its samples alone.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/plan/verify/replicas.inl"
#endif

#include "tessera/base/end_header.inl"
