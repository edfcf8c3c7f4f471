// SPDX-License-Identifier: Apache-2.0
// Precompiled before the cases: every header that they include. A case includes what it uses all the same.
#pragma once

#include <tessera/layout/typed_fit.hpp>
#include <tessera/layout/typed_layout_of.hpp>
#include <tessera/layout/typed_redistribution.hpp>
#include <tessera/layout/typed_strategy.hpp>
#include <tessera/net/describe.hpp>
#include <tessera/schedule/p3.hpp>
#include <tessera/schedule/parameter_average.hpp>
#include <tessera/schedule/parameter_server.hpp>
#include <tessera/schedule/ring_all_reduce.hpp>
#include <tessera/schedule/schedules.hpp>
#include <tessera/schedule/typed_messages.hpp>
#include <tessera/schedule/typed_steps.hpp>
#include <tessera/schedule/zero.hpp>
