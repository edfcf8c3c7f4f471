// SPDX-License-Identifier: Apache-2.0
// What lowering refuses: options that do not fit the network or the strategy, and what breaks the rules of stages,
// schedules, messages and averages. The order is that in which users see it: what a plan is made of first.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/base/number_text.hpp"
#include "tessera/plan/lower/input.hpp"
#include "tessera/strategy/strategy.hpp"

namespace tessera::lowering {

/// Refuses options, and numbers of micro-batches and of steps.
void check_options(const lowering_input& in);

/// Refuses stages and schedules; then what synchronizes gradients and parameters.
void check_rules(const lowering_input& in);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/checks.inl"
#endif

#include "tessera/base/end_header.inl"
