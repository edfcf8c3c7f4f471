// SPDX-License-Identifier: Apache-2.0
// Expressions as Python, and the operators and losses that are one, element by element.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/shard_text.hpp"
#include "tessera/base/function_ref.hpp"
#include "tessera/op/expression/record.hpp"

#include <string>
#include <utility>

namespace tessera::torch::detail {

/// Writes a tape down. Leaves that are no constants are said by `leaf`.
class tape_text {
public:
    using leaf_text = function_ref<std::string(const expression::node&)>;
    using leaf_kind = function_ref<bool(const expression::node&)>;

    /// Nodes that several read get variables, derived from `stem`; where it is empty they are said again. `is_number`:
    /// of a leaf that is no tensor.
    tape_text(const expression::tape& nodes, int root, std::string stem, leaf_text leaf, leaf_kind is_number);

    /// The root as an expression; the lines that it needs before it are in `before`.
    std::string expression(std::string& before);

private:
    static bool is_leaf(const expression::node& n) { return expression::operands_of(n.what) == 0; }

    std::string text(int i);

    bool is_number(int i) const;
    /// What a function of torch takes: numbers by themselves are none of its tensors.
    bool needs_tensor(int i) const;

    /// The larger or smaller of two, one of which may be a number.
    std::string extreme(const expression::node& n, const char* name, const char* bound);

    std::string written(const expression::node& n);

    static const char* name_of(expression::opcode what) {
#define TESSERA_EXPRESSION_NODE(name, operands, flops) #name,
        static constexpr const char* names[] = {TESSERA_EXPRESSION_NODES(TESSERA_EXPRESSION_NODE)};
#undef TESSERA_EXPRESSION_NODE
        return names[static_cast<int>(what)];
    }

    const expression::tape& nodes_;
    int root_;
    std::string stem_;
    leaf_text leaf_;
    leaf_kind is_number_;
    int readers_[expression::max_nodes] = {};
    std::string names_[expression::max_nodes];
    std::string before_;
};

std::string formula_line(const shard_text& s, std::string&);

} // namespace tessera::torch::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/op/formulas.inl"
#endif

#include "tessera/base/end_header.inl"
