// SPDX-License-Identifier: Apache-2.0
// What the tests of sessions include, parsed once. A test still includes what it uses.
#pragma once

#include "precompiled.hpp"
#include "support/instances.hpp"
