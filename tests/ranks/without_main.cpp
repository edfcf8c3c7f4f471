// SPDX-License-Identifier: Apache-2.0
// doctest without its main(), for programs that have one of their own.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
