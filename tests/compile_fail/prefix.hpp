// SPDX-License-Identifier: Apache-2.0
// Precompiled before the cases: every header that they include. A case includes what it uses all the same.
#pragma once

#include <tessera/layout/typed_strategy.hpp>
#include <tessera/net/describe.hpp>
