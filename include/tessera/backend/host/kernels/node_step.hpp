// SPDX-License-Identifier: Apache-2.0
// One node of a formula that is known when the program runs.
#pragma once

#include "tessera/op/expression/nodes.hpp"

#include <cstdint>

namespace tessera::host::kernels {

/// What it computes, and the places, numbers of arrays, that it reads and writes.
struct node_step {
    expression::opcode what = expression::opcode::constant;
    std::uint8_t to = 0;
    std::uint8_t of[3] = {};
};

} // namespace tessera::host::kernels
