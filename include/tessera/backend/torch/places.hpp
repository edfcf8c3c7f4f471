// SPDX-License-Identifier: Apache-2.0
// What a program for PyTorch is made from: the plan, where its parameters live, and which variable holds a tile.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/refusals.hpp"
#include "tessera/backend/torch/tables.hpp"
#include "tessera/plan/lower/lower.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tessera::torch::detail {

/// The same strategy with gradients synchronized in the usual way, no streams and nothing computed twice: where values
/// lie and move forward does not depend on these.
strategy plain_strategy(const strategy_view& s);

/// A program that grows, operator by operator, and the plan that it follows.
class places {
protected:
    places(const graph_view& g, const strategy_view& s, int devices, const optimizer& update);

    const tile& tile_at(int t) const { return plan_.tiles[to_size(t)]; }
    int stage_of(int op) const { return s_.schedule != nullptr ? s_.ops[op].stage : 0; }
    void add_lines(int stage, int rank, const std::string& text);
    std::string value(int stage, int tile) const;

    /// The variable of what a tile holds: where it is stored as bf16, of the rounded numbers.
    std::string stored(int stage, int rank, const std::string& name, int tile);

    void add_parameters();

    /// How a program reads the local part of a parameter that lies in a tile of the plan.
    std::string parameter_text(int tile) const;

    /// The running state that a shard updates; empty for one that follows another.
    std::string state_text(int op, int which, const task& t);

    graph_view g_;
    strategy_view s_;
    strategy plain_;
    lower_options options_;
    lowering::lowering_input in_;
    plan plan_;
    network_paths paths_;
    program out_;
    tile_tables tables_;
    free_names free_{python_words()};
    std::vector<std::string> names_;                 ///< by operator
    std::vector<std::map<int, std::string>> values_; ///< by stage: the variable of a tile
    std::set<int> followed_;                         ///< running states that a shard updates
    std::vector<std::string> refused_;
};

} // namespace tessera::torch::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/places.inl"
#endif

#include "tessera/base/end_header.inl"
