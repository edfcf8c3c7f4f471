// SPDX-License-Identifier: Apache-2.0
// A split problem contracted to what can be taken apart: blocks of nodes that lie on one device in every contiguous
// split.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/split_problem.hpp"

namespace tessera::search::placement {

/// Nodes of one group are one block, and so are groups between whose forward nodes a cycle leads. A contiguous split
/// follows the edges between forward nodes alone; backward nodes go with their group. Where a group has backward nodes
/// only, the edges between it and other backward nodes count, reversed (the same as in the code of the paper's
/// authors).
struct split_blocks {
    /// What the nodes of one block send, where the same blocks read it.
    struct output {
        int from = 0;
        std::vector<int> readers; ///< other blocks, in order
        double cost = 0;
    };

    std::vector<int> block_of; ///< by node
    std::vector<double> cpu_time, accelerator_time, size;
    std::vector<char> accelerated;          ///< all of its nodes are
    std::vector<std::pair<int, int>> edges; ///< between blocks, the first of which comes first
    std::vector<output> outputs;

    int count() const { return static_cast<int>(size.size()); }

    explicit split_blocks(const split_problem& p);

private:
    static int classify(const split_problem& p, std::vector<int>& class_of, std::vector<char>& has_forward);

    static std::vector<std::pair<int, int>> class_edges(const split_problem& p, const std::vector<int>& class_of,
                                                        const std::vector<char>& has_forward);

    /// Strongly connected components (Kosaraju's algorithm), numbered so that edges lead from lower to higher numbers.
    static std::vector<int> components(int nodes, const std::vector<std::pair<int, int>>& edges);

    /// Everything of blocks, given the block of every class.
    void sum_up(const split_problem& p, const std::vector<int>& class_of, const std::vector<int>& block,
                const std::vector<std::pair<int, int>>& before);

    /// The block that every block goes with: itself, or a neighbour. New numbers, without gaps.
    std::vector<int> absorbed(const split_problem& p) const;

    void gather_outputs(const split_problem& p);
};

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/split_blocks.inl"
#endif

#include "tessera/base/end_header.inl"
