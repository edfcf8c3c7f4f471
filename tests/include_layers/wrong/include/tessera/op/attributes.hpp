// SPDX-License-Identifier: Apache-2.0
#pragma once

// clang-format off
#define TESSERA_OPERATORS(X) \
    X(mean_pool) X(softmax) \
    X(slice)
// clang-format on
