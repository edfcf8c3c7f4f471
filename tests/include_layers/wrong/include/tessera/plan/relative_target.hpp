// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <thread>
static_assert(static_cast<int>(tessera::op_kind::relu) >= 0);
