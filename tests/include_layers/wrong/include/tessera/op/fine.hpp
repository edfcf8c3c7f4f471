// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/heavy.hpp"
#include "tessera/base/missing.hpp"
