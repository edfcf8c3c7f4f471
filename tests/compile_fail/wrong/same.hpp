// SPDX-License-Identifier: Apache-2.0
// An instantiation that two cases share: a compiler refuses it once.
#pragma once

template <int N>
struct tessera_even {
    static_assert(N % 2 == 0, "the number is odd");
    static constexpr int value = N;
};
