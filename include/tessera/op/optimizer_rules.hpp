// SPDX-License-Identifier: Apache-2.0
// Settings of an optimizer that make no sense are refused, by name and number.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/base/finite.hpp"
#include "tessera/base/number_text.hpp"
#include "tessera/op/optimizer.hpp"

#include <cmath>
#include <string>

namespace tessera {

/// Throws tessera::error for rates, decays and clipping that are negative or no finite numbers; for momentum, beta1,
/// beta2 and alpha outside of [0, 1); for an epsilon and a scale of the loss that are not above 0.
void require(const optimizer& o);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/op/optimizer_rules.inl"
#endif

#include "tessera/base/end_header.inl"
