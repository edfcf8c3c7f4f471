// SPDX-License-Identifier: Apache-2.0
// The harness itself: an empty program compiles, and garbage is refused for its own text.
// expect-error: the_harness_reads_this
#ifdef TESSERA_EXPECT_ERROR
static_assert(false, "the_harness_reads_this");
#else
#endif
