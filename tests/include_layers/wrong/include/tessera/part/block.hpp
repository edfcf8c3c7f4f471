// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/op/pool.hpp"

struct block : mean_pool {}; // layers of operators are for naming them
