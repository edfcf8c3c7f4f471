// SPDX-License-Identifier: Apache-2.0
// One shard of an operator as the local lines of a program for PyTorch: what an operator's row reads to write them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/text.hpp"
#include "tessera/net/graph.hpp"
#include "tessera/op/analysis.hpp"

#include <string>
#include <vector>

namespace tessera::torch {

/// Where a name is empty the shard has no such tensor. Tensors of the program are local: they hold a region of the
/// whole one.
struct shard_text {
    const graph_view* g = nullptr;
    int op = -1;
    const description* d = nullptr;
    const interval* ranges = nullptr; ///< of the shard's loops
    bool first_part = true;           ///< it adds what is added once (a bias)
    index_t samples = 0;              ///< over which statistics are taken
    int micro_batches = 1;
    std::string name; ///< the operator's, as the program's tables know it
    int number = 0;   ///< among the rank's shards of the operator
    std::string out;  ///< variable
    std::vector<std::string>
        value; ///< by operand: variable of an input or of an exchanged intermediate, expression of a parameter
    std::vector<box> region; ///< by operand, of what the variable holds

    const op_attributes& attributes() const { return g->ops[op].attributes; }
    template <class Own>
    Own as() const {
        return attributes().template as<Own>();
    }
    int operand_of(operand_kind kind, int slot = 0) const { return d->find_operand(kind, slot); }
    const std::string& input(int slot = 0) const { return value[to_size(operand_of(operand_kind::input, slot))]; }
    const box& input_region(int slot = 0) const { return region[to_size(operand_of(operand_kind::input, slot))]; }
    const shape& input_extents(int slot = 0) const;
    const box& output_region() const { return region[to_size(d->output())]; }
    const shape& output_extents() const { return d->operands[d->output()].extents; }
    /// The local part of a parameter; "None" where the shard has none of it, or another shard adds it.
    std::string parameter(int slot) const;
    interval range(loop_name loop) const;
    /// An intermediate as nests after the one that makes it see it.
    std::string intermediate(int slot) const { return value[to_size(operand_of(operand_kind::intermediate, slot))]; }
};

/// What an operator's shard drops at random, by its place in a whole tensor that need not be the output.
struct dropped_numbers {
    const char* unit = ""; ///< what is dropped as one: "element", "channel", "sample"; empty: it drops nothing
    index_t percent = 0;
    shape extents;
    box region;
};

/// What an operator's shard is in PyTorch.
struct operator_row {
    /// The line, or lines, of the operator in one piece; empty: it cannot be said, and `why` has been told.
    std::string (*line)(const shard_text&, std::string& why) = nullptr;
    /// Where its nests exchange intermediates: the expression that nest `nest` makes; empty as above. Null: it cannot
    /// be split so.
    std::string (*nest)(const shard_text&, int nest, std::string& why) = nullptr;
    /// Null: it drops nothing.
    dropped_numbers (*dropped)(const shard_text&) = nullptr;
};

/// "out = expression".
inline std::string assign(const shard_text& s, const std::string& expression) { return s.out + " = " + expression; }

/// What is left of `x` when the runtime has dropped some: which numbers, by their places in the whole tensor, it knows
/// from the table of dropouts.
std::string with_dropout(const shard_text& s, const std::string& x);

} // namespace tessera::torch

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/shard_text.inl"
#endif

#include "tessera/base/end_header.inl"
