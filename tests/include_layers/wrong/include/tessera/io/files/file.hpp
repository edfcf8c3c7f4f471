// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/backend/host/own.hpp"
#include "tessera/tessera.hpp"
