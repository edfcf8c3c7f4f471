// SPDX-License-Identifier: Apache-2.0
// The forward part of a plan by operators, and what an exchange amounts to.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/program.hpp"
#include "tessera/plan/plan.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace tessera::torch::detail {

/// Of the first micro-batch, whose tasks are those of all: by operator the copies before it, its compute tasks, and the
/// tiles of a view.
struct tile_tables {
    std::vector<std::vector<int>> copies, computes, views;

    tile_tables() = default;
    tile_tables(const plan& p, const graph_view& g);

private:
    static std::size_t size(const graph_view& g) { return to_size(g.op_count); }
};

/// The dimension along which regions differ while the others are the same; -1: none, or several.
int only_dimension(const std::vector<located_tile>& all);

bool all_same(const std::vector<located_tile>& all);

bool one_of_each_rank(const std::vector<located_tile>& all);

bool same_ranks(const exchange_table& x);

/// True where every target takes all of every source.
inline bool all_to_each(const exchange_table& x) { return x.moves.size() == x.sources.size() * x.targets.size(); }

/// What an exchange is called: "all-reduce" and "all-gather" are run as such, the others as batched sends and receives.
std::string kind_of(const exchange_table& x);

} // namespace tessera::torch::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/tables.inl"
#endif

#include "tessera/base/end_header.inl"
