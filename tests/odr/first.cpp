// SPDX-License-Identifier: Apache-2.0
#include "all_headers.hpp"

// The second translation unit, which includes the same headers.
int second();

int main() { return second(); }
