// SPDX-License-Identifier: Apache-2.0
// expect-error: the number is odd
#ifdef TESSERA_EXPECT_ERROR
struct number { // no mistake, whatever its neighbours make
    static constexpr int value = 4;
};
#else
struct number {
    static constexpr int value = 2;
};
#endif

template <class N>
struct even {
    static_assert(N::value % 2 == 0, "the number is odd");
};

template struct even<number>;
