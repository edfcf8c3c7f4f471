// SPDX-License-Identifier: Apache-2.0
// The downsets (ideals) of an acyclic graph: sets of nodes that hold, with a node, all that come before it. A pipeline
// of stages is a chain of them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/base/error.hpp"
#include "tessera/op/mask.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::search::placement {

/// All downsets, from the empty one (number 0) to the one of all nodes (the last), smaller ones first.
class downsets {
public:
    /// What lies directly below a downset: the same without one node.
    struct below {
        int without = 0; ///< the node
        int set = 0;     ///< number of the downset
    };

    /// Edges are pairs of nodes, the first of which comes first; there must be no cycle among them. Stops when there
    /// are more than `most`, and is then not complete.
    downsets(int nodes, const std::vector<std::pair<int, int>>& edges, std::size_t most);

    /// Of these the prefixes of one order of the nodes: a chain, in which every later set holds all earlier ones.
    explicit downsets(const std::vector<int>& order);
    bool complete() const; ///< false: there are more than were asked for, and nothing else may be asked
    std::size_t count() const { return bits_.size() / words_; }
    int nodes() const { return nodes_; }
    int full() const { return static_cast<int>(count()) - 1; }
    bool contains(int set, int node) const { return (at(to_size(set))[to_size(node) / 64] & bit(node)) != 0; }
    const below* begin_below(int set) const { return below_.data() + first_below_[to_size(set)]; }
    const below* end_below(int set) const { return below_.data() + first_below_[to_size(set) + 1]; }

private:
    static std::uint64_t bit(int node) { return std::uint64_t{1} << (to_size(node) % 64); }
    const std::uint64_t* at(std::size_t i) const { return bits_.data() + i * words_; }

    /// Sorts what lies below what.
    void finish();

    bool has_all(std::size_t i, const std::uint64_t* wanted) const;
    std::size_t place_of(const std::uint64_t* set) const;
    int find_or_add(const std::vector<std::uint64_t>& set);

    int nodes_ = 0;
    std::size_t words_ = 1;
    bool complete_ = false;
    std::vector<std::uint64_t> bits_;
    std::vector<int> table_; ///< numbers by hash
    std::vector<std::pair<int, below>> links_;
    std::vector<std::size_t> first_below_;
    std::vector<below> below_;
};

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/downsets.inl"
#endif

#include "tessera/base/end_header.inl"
