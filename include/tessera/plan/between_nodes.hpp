// SPDX-License-Identifier: Apache-2.0
// What of a plan has to cross between nodes, whose processes share no memory: after which task, where to, and who waits
// for it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/access.hpp"

#include <algorithm>
#include <vector>

namespace tessera {

namespace detail {

/// Sorted intervals that do not touch each other.
using elements_of_tile = std::vector<interval>;

void add_elements(elements_of_tile& to, const elements_of_tile& more);

/// Moves what lies in `part` from `all` to what is returned.
elements_of_tile take_elements(elements_of_tile& all, const interval& part);

/// The elements of a box, in the order of the tile that holds it.
elements_of_tile elements_of(const box& part, const box& tile);

} // namespace detail

/// Elements of a tile that owns its memory.
struct tile_elements {
    int tile = -1;
    detail::elements_of_tile elements;
};

/// The traffic between nodes of a run of one plan. Every node has memory for all tiles of all devices. What a task
/// writes is sent, when it has finished, to the nodes whose tasks read it next, into the same place; memory of a tile
/// is written there only when nobody reads it any more, as the plan's waits have it, for who wrote it has waited for
/// all that read what was there before.
struct node_traffic {
    /// What goes to one node when a task has finished.
    struct message {
        int node = 0;
        std::vector<tile_elements> parts; ///< none: the node only waits for the task
        int reader = -1; ///< the queued task that alone it is for, which waits for its arrival; -1: for all
        int priority =
            -1; ///< of the queued task that it is for or from; -1: it has none, and goes before all that have one
    };
    std::vector<std::vector<message>> after; ///< by task
    std::vector<std::vector<message>>
        before; ///< by device: persistent tiles, when they were last written by another plan or by hand

    /// Elements times their bytes.
    static index_t bytes_of_parts(const plan& p, const message& m);
};

namespace detail {

class traffic_finder {
public:
    traffic_finder(plan& p, const std::vector<int>& node_of, int nodes);

    /// Also makes every task of the plan that reads what another node's task has written wait for that one itself: what
    /// it knew of it through a third node may come sooner than what was written.
    node_traffic run();

private:
    struct use {
        int task = 0;
        int node = 0;
        elements_of_tile elements;
    };
    struct uses {
        std::vector<use> reads;
        std::vector<use> writes;
    };

    const tile& tile_at(int t) const { return p_.tiles[to_size(t)]; }
    task& task_at(int t) { return p_.tasks[to_size(t)]; }
    int node_of_task(int t) { return node_of_[to_size(task_at(t).device)]; }

    /// What a task reads and writes. A copy reads the regions that it takes; one that fills only a part of its tile
    /// sends the tile on whole, and so reads what it leaves.
    void note(int i);
    static bool leaves_something(const task& t);

    /// Who has written what `r` reads.
    void look_back(int t, const use& r);
    /// The node of a device has what its persistent tiles are after a run.
    void keep(int t);
    void send(int t, const use& w, const use& r, elements_of_tile& left, bool waits);
    /// Nodes hear of the tasks of others that their own wait for, and all of what is queued.
    void tell_who_waits();
    void wait(int reader, int writer);
    node_traffic::message& message_of(int writer, int node, int reader);
    static node_traffic::message& message_in(std::vector<node_traffic::message>& all, int node, int reader);
    static void add(node_traffic::message& to, int t, const elements_of_tile& what);

    plan& p_;
    const std::vector<int>& node_of_;
    int nodes_;
    std::vector<uses> tiles_; ///< by tile, in the plan's order
    std::vector<access> own_;
    node_traffic found_;
};

} // namespace detail

/// The traffic of a bound plan between so many nodes; `node_of` has the node of every device. Results go to all. The
/// plan's waits become those that the traffic needs.
node_traffic traffic_between_nodes(plan& p, const std::vector<int>& node_of, int nodes);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/between_nodes.inl"
#endif

#include "tessera/base/end_header.inl"
