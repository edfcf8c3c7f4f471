// SPDX-License-Identifier: Apache-2.0
// How long the core umbrella takes to compile.
#include "tessera/tessera.hpp"
