// SPDX-License-Identifier: Apache-2.0
// Placement by list scheduling: HEFT (Topcuoglu, Hariri and Wu, IEEE TPDS 2002) with memory.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/found.hpp"

namespace tessera::search::placement {

namespace detail {

/// A placement node by node.
class list_placement {
public:
    explicit list_placement(evaluator& e);
    assignment placed();

private:
    double time(int v, int d) const;                             ///< of a node on a device
    double transfer(const cost_edge& x, int from, int to) const; ///< forward and, if there is one, back
    std::vector<int> by_rank() const;
    double start(int v, int d) const;
    void place(int v);

    evaluator& e_;
    const cost_graph& g_;
    grouping groups_;
    std::vector<int> device_of_group_; ///< -1: not yet chosen
    std::vector<double> group_bytes_;
    assignment where_;
    std::vector<double> ends_; ///< of nodes
    std::vector<double> free_; ///< from when on a device is
    std::vector<double> left_; ///< bytes of a device
};

} // namespace detail

/// Nodes by upward rank, the longest way from one to the end, with the mean time over devices and the mean transfer;
/// each goes where it ends the earliest among the devices that run it and have memory left for what it holds and makes.
/// One that fits nowhere goes to the one with the most memory left. Groups go where their first node went.
found by_list(evaluator& e);

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/list_placement.inl"
#endif

#include "tessera/base/end_header.inl"
