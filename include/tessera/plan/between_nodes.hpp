// SPDX-License-Identifier: Apache-2.0
// What of a plan has to cross between nodes, whose processes share no memory: after which task, where to, and who waits for it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/access.hpp"

#include <algorithm>
#include <vector>

namespace tessera {

namespace detail {

/// Sorted intervals that do not touch each other.
using elements_of_tile = std::vector<interval>;

inline void add_elements(elements_of_tile& to, const elements_of_tile& more) {
    to.insert(to.end(), more.begin(), more.end());
    std::sort(to.begin(), to.end(), [](const interval& a, const interval& b) { return a.begin < b.begin; });
    std::size_t last = 0;
    for (std::size_t i = 1; i < to.size(); ++i) {
        if (to[i].begin <= to[last].end) {
            to[last].end = std::max(to[last].end, to[i].end);
        } else {
            to[++last] = to[i];
        }
    }
    to.resize(to.empty() ? 0 : last + 1);
}

/// Moves what lies in `part` from `all` to what is returned.
inline elements_of_tile take_elements(elements_of_tile& all, const interval& part) {
    elements_of_tile taken, left;
    for (const interval& x : all) {
        const interval both = intersect(x, part);
        if (both.empty()) {
            left.push_back(x);
            continue;
        }
        taken.push_back(both);
        for (const interval& rest : {interval{x.begin, both.begin}, interval{both.end, x.end}}) {
            if (!rest.empty()) {
                left.push_back(rest);
            }
        }
    }
    all.swap(left);
    return taken;
}

/// The elements of a box, in the order of the tile that holds it.
inline elements_of_tile elements_of(const box& part, const box& tile) {
    index_t row = 1; // elements that lie behind each other
    int inner = part.rank;
    for (bool is_whole = true; inner > 0 && is_whole; --inner) {
        row *= part.dim[inner - 1].size();
        is_whole = part.dim[inner - 1] == tile.dim[inner - 1];
    }
    index_t rows = 1;
    for (int d = 0; d < inner; ++d) {
        rows *= part.dim[d].size();
    }
    elements_of_tile all;
    for (index_t i = 0; i < rows && row > 0; ++i) {
        index_t place[max_rank]{};
        index_t rest = i;
        for (int d = inner; d-- > 0;) {
            place[d] = rest % part.dim[d].size();
            rest /= part.dim[d].size();
        }
        index_t begin = 0;
        for (int d = 0; d < part.rank; ++d) {
            begin = begin * tile.dim[d].size() + part.dim[d].begin - tile.dim[d].begin + place[d];
        }
        all.push_back({begin, begin + row});
    }
    elements_of_tile merged;
    add_elements(merged, all);
    return merged;
}

} // namespace detail

/// Elements of a tile that owns its memory.
struct tile_elements {
    int tile = -1;
    detail::elements_of_tile elements;
};

/// The traffic between nodes of a run of one plan. Every node has memory for all tiles of all devices. What a task writes is sent, when it has finished, to the nodes
/// whose tasks read it next, into the same place; memory of a tile is written there only when nobody reads it any more, as the plan's waits
/// have it, for who wrote it has waited for all that read what was there before.
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
    static index_t bytes_of_parts(const plan& p, const message& m) {
        index_t bytes = 0;
        for (const tile_elements& x : m.parts) {
            for (const interval& e : x.elements) {
                bytes += e.size() * bytes_of(p.tiles[static_cast<std::size_t>(x.tile)].type);
            }
        }
        return bytes;
    }
};

namespace detail {

class traffic_finder {
public:
    traffic_finder(plan& p, const std::vector<int>& node_of, int nodes)
        : p_(p), node_of_(node_of), nodes_(nodes), tiles_(p.tiles.size()) {
        found_.after.resize(p.tasks.size());
        found_.before.resize(static_cast<std::size_t>(p.devices));
        for (int i = 0; i < static_cast<int>(p.tasks.size()); ++i) {
            note(i);
        }
    }

    /// Also makes every task of the plan that reads what another node's task has written wait for that one itself: what it knew of it through a third node may come sooner
    /// than what was written.
    node_traffic run() {
        for (std::size_t t = 0; t < tiles_.size(); ++t) {
            for (const use& r : tiles_[t].reads) {
                look_back(static_cast<int>(t), r);
            }
            keep(static_cast<int>(t));
        }
        for (const std::vector<result_piece>* all : {&p_.results, &p_.gradients}) {
            for (const result_piece& x : *all) {
                const int root = p_.root(x.tile);
                const tile& owner = tile_at(root);
                for (int node = 0; node < nodes_ && owner.device >= 0; ++node) {
                    look_back(root, {static_cast<int>(p_.tasks.size()), node, {{0, owner.elements}}});
                }
            }
        }
        tell_who_waits();
        return static_cast<node_traffic&&>(found_);
    }

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

    const tile& tile_at(int t) const { return p_.tiles[static_cast<std::size_t>(t)]; }
    task& task_at(int t) { return p_.tasks[static_cast<std::size_t>(t)]; }
    int node_of_task(int t) { return node_of_[static_cast<std::size_t>(task_at(t).device)]; }

    /// What a task reads and writes. A copy reads the regions that it takes; one that fills only a part of its tile sends the tile on whole, and so reads what it leaves.
    void note(int i) {
        const task& t = task_at(i);
        const int node = node_of_task(i);
        accesses_of(p_, t, own_);
        for (const access& a : own_) {
            const tile& x = tile_at(a.tile);
            if (x.device < 0) {
                continue; // an input, which every process has
            }
            uses& of = tiles_[static_cast<std::size_t>(a.tile)];
            const bool is_read = !a.write && t.kind != task_kind::copy;
            if (is_read || (a.write && (is_persistent(x.kind) || leaves_something(t)))) {
                of.reads.push_back({i, node, {a.elements}});
            }
            if (a.write) {
                of.writes.push_back({i, node, {a.elements}});
            }
        }
        for (const copy_segment& s : t.segments) {
            const tile& x = tile_at(s.source);
            const int root = p_.root(s.source);
            if (tile_at(root).device >= 0) {
                tiles_[static_cast<std::size_t>(root)].reads.push_back(
                    {i, node,
                     x.format == 0 && x.slices == 1 ? elements_of(s.region, x.region)
                                                    : elements_of_tile{{0, tile_at(root).elements}}});
            }
        }
    }
    static bool leaves_something(const task& t) {
        return t.kind == task_kind::copy && !t.clear && !(t.segments.size() == 1 && t.segments[0].overwrite);
    }

    /// Who has written what `r` reads.
    void look_back(int t, const use& r) {
        const std::vector<use>& writes = tiles_[static_cast<std::size_t>(t)].writes;
        elements_of_tile left = r.elements;
        for (std::size_t k = writes.size(); k-- > 0 && !left.empty();) {
            if (writes[k].task < r.task) {
                send(t, writes[k], r, left, true);
            }
        }
        if (left.empty() || !is_persistent(tile_at(t).kind)) {
            return;
        }
        const int device = tile_at(t).device;
        const int owner = node_of_[static_cast<std::size_t>(device)];
        if (owner != r.node) {
            add(message_in(found_.before[static_cast<std::size_t>(device)], r.node, -1), t, left);
        }
        for (std::size_t k = writes.size(); k-- > 0 && !left.empty();) { // of the run before
            if (writes[k].task >= r.task) {
                send(t, writes[k], r, left, false);
            }
        }
    }
    /// The node of a device has what its persistent tiles are after a run.
    void keep(int t) {
        const tile& x = tile_at(t);
        if (x.device >= 0 && is_persistent(x.kind)) {
            const use owner{static_cast<int>(p_.tasks.size()), node_of_[static_cast<std::size_t>(x.device)], {}};
            elements_of_tile left{{0, x.elements}};
            const std::vector<use>& writes = tiles_[static_cast<std::size_t>(t)].writes;
            for (std::size_t k = writes.size(); k-- > 0 && !left.empty();) {
                send(t, writes[k], owner, left, false);
            }
        }
    }
    void send(int t, const use& w, const use& r, elements_of_tile& left, bool waits) {
        const elements_of_tile both = take_elements(left, w.elements[0]);
        if (both.empty() || w.node == r.node) {
            return;
        }
        const bool reads = r.task < static_cast<int>(p_.tasks.size());
        const bool alone = waits && reads && p_.is_queued(r.task) && !p_.is_queued(w.task);
        add(message_of(w.task, r.node, alone ? r.task : -1), t, both);
        if (waits && reads) {
            wait(r.task, w.task);
        }
    }
    /// Nodes hear of the tasks of others that their own wait for, and all of what is queued.
    void tell_who_waits() {
        const auto tell = [&](int i, int node) {
            if (node != node_of_task(i)) {
                message_of(i, node, -1);
            }
        };
        for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
            for (const wait_for& w : task_at(i).waits) {
                tell(p_.order[static_cast<std::size_t>(w.list)][static_cast<std::size_t>(w.count - 1)],
                     node_of_task(i));
            }
            for (int node = 0; node < nodes_ && p_.is_queued(i); ++node) {
                tell(i, node);
            }
        }
    }
    void wait(int reader, int writer) {
        task& r = task_at(reader);
        const task& w = task_at(writer);
        if (p_.is_queued(writer)) {
            if (std::find(r.after.begin(), r.after.end(), writer) == r.after.end()) {
                r.after.push_back(writer);
            }
            return;
        }
        for (wait_for& x : r.waits) {
            if (x.list == p_.list_of(w)) {
                x.count = std::max(x.count, w.position + 1);
                return;
            }
        }
        r.waits.push_back({p_.list_of(w), w.position + 1});
    }
    node_traffic::message& message_of(int writer, int node, int reader) {
        node_traffic::message& m = message_in(found_.after[static_cast<std::size_t>(writer)], node, reader);
        m.priority = p_.is_queued(writer) ? task_at(writer).priority : reader >= 0 ? task_at(reader).priority : -1;
        return m;
    }
    static node_traffic::message& message_in(std::vector<node_traffic::message>& all, int node, int reader) {
        for (node_traffic::message& m : all) {
            if (m.node == node && m.reader == reader) {
                return m;
            }
        }
        all.push_back({node, {}, reader});
        return all.back();
    }
    static void add(node_traffic::message& to, int t, const elements_of_tile& what) {
        for (tile_elements& x : to.parts) {
            if (x.tile == t) {
                add_elements(x.elements, what);
                return;
            }
        }
        to.parts.push_back({t, what});
    }

    plan& p_;
    const std::vector<int>& node_of_;
    int nodes_;
    std::vector<uses> tiles_; ///< by tile, in the plan's order
    std::vector<access> own_;
    node_traffic found_;
};

} // namespace detail

/// The traffic of a bound plan between so many nodes; `node_of` has the node of every device. Results go to all. The plan's waits become those that the traffic
/// needs.
inline node_traffic traffic_between_nodes(plan& p, const std::vector<int>& node_of, int nodes) {
    return detail::traffic_finder(p, node_of, nodes).run();
}

} // namespace tessera

#include "tessera/base/end_header.inl"
