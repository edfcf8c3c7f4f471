// SPDX-License-Identifier: Apache-2.0
// What the ways to compute operators have in common: which formats a call takes, and what they are worth by rules of
// thumb.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/call.hpp"

namespace tessera::host::detail {

/// A candidate of our own: what is touched of activations in format `f`, everything else plain.
candidate in_format(const compute_call& c, int f);

/// A candidate on blocks of samples: activations in them, parameters plain.
candidate in_samples(const compute_call& c);

/// The format that forward reads, or backward writes, the first operand in.
inline int entry_format(const candidate& k) { return k.value[0] >= 0 ? k.value[0] : k.gradient[0]; }

/// A rule of thumb: plain images cost three times as much.
double plain_is_slow(const compute_call&, const candidate& k, double flops);

} // namespace tessera::host::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/choose/candidates.inl"
#endif

#include "tessera/base/end_header.inl"
