// SPDX-License-Identifier: Apache-2.0
// Checks that compressed gradients are of one parameter: who compresses keeps what it leaves out to itself, and who
// adds codes up reads those of all.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/plan/verify/compressed.inl"
#endif

#include "tessera/base/end_header.inl"
