// SPDX-License-Identifier: Apache-2.0
// Precompiled before the cases: every header that they include. A case includes what it uses all the same.
#pragma once

#include <tessera/layout/typed_redistribution.hpp>
#include <tessera/net/describe.hpp>
#include <tessera/schedule/policies.hpp>
#include <tessera/schedule/schedules.hpp>
#include <tessera/schedule/typed_actions.hpp>
#include <tessera/schedule/typed_messages.hpp>
#include <tessera/strategy/typed_fit.hpp>
#include <tessera/strategy/typed_layout_of.hpp>
#include <tessera/strategy/typed_strategy.hpp>
