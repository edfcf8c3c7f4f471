// SPDX-License-Identifier: Apache-2.0
// All as one source.
#include "main.cpp"
#include "refuse.cpp"
#include "train.cpp"
