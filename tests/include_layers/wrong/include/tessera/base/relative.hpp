// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "../plan/relative_target.hpp"
