// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/op/attributes.hpp"

inline constexpr op_record mean_pool_record{.name = "mean_pool"};

struct mean_pool {};
struct pool_window : mean_pool {};
