// SPDX-License-Identifier: Apache-2.0
// expect-error: the number is odd
#ifdef TESSERA_EXPECT_ERROR
static_assert(1 % 2 == 0, "the number is odd");
static_assert(3 % 2 == 0, "the number is odd");
static_assert(5 % 2 == 0, "the number is odd");
static_assert(7 % 2 == 0, "the number is odd");
#endif
