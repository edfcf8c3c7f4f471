// SPDX-License-Identifier: Apache-2.0
// Steps of formulas that are known when the program runs: a node, or two of which the second takes what the first
// makes, so that it is not stored.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/nodes.hpp"

#include <cstdint>

namespace tessera::host::kernels {

// PAIR(name, first, second, whether the first's is the second operand of the second)
#define TESSERA_NODE_PAIRS(PAIR)                                                                                       \
    PAIR(add_add, add, add, 0)                                                                                         \
    PAIR(add_subtract, add, subtract, 0)                                                                               \
    PAIR(add_subtracted, add, subtract, 1)                                                                             \
    PAIR(add_multiply, add, multiply, 0)                                                                               \
    PAIR(subtract_add, subtract, add, 0)                                                                               \
    PAIR(subtract_subtract, subtract, subtract, 0)                                                                     \
    PAIR(subtract_subtracted, subtract, subtract, 1)                                                                   \
    PAIR(subtract_multiply, subtract, multiply, 0)                                                                     \
    PAIR(multiply_add, multiply, add, 0)                                                                               \
    PAIR(multiply_subtract, multiply, subtract, 0)                                                                     \
    PAIR(multiply_subtracted, multiply, subtract, 1)                                                                   \
    PAIR(multiply_multiply, multiply, multiply, 0)

/// Nodes by their opcodes, then pairs.
enum class step_code : std::uint8_t {
#define TESSERA_EXPRESSION_NODE(name, operands, flops) name,
    TESSERA_EXPRESSION_NODES(TESSERA_EXPRESSION_NODE)
#undef TESSERA_EXPRESSION_NODE
#define TESSERA_NODE_PAIR(name, first, second, swapped) name,
        TESSERA_NODE_PAIRS(TESSERA_NODE_PAIR)
#undef TESSERA_NODE_PAIR
};

/// What a step computes, and the places, numbers of arrays, that it reads and writes. Of a pair the operands of the
/// first node, then the other one of the second.
struct node_step {
    step_code what = step_code::constant;
    std::uint8_t to = 0;
    std::uint8_t of[3] = {};
};

constexpr step_code code_of(expression::opcode what) { return static_cast<step_code>(what); }

/// The pair of two nodes; `constant`: there is none.
constexpr step_code pair_of(expression::opcode first, expression::opcode second, bool swapped) {
    using expression::opcode;
    const bool in_order = !swapped || second != opcode::subtract; // the others may be turned
#define TESSERA_NODE_PAIR(name, a, b, turned)                                                                          \
    if (first == opcode::a && second == opcode::b && in_order == !(turned)) {                                          \
        return step_code::name;                                                                                        \
    }
    TESSERA_NODE_PAIRS(TESSERA_NODE_PAIR)
#undef TESSERA_NODE_PAIR
    return step_code::constant;
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
