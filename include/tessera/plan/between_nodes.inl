// SPDX-License-Identifier: Apache-2.0
// Bodies of between_nodes.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/between_nodes.hpp"

#include <utility>

namespace tessera::detail {

TESSERA_INLINE void add_elements(elements_of_tile& to, const elements_of_tile& more) {
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

TESSERA_INLINE elements_of_tile take_elements(elements_of_tile& all, const interval& part) {
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

TESSERA_INLINE elements_of_tile elements_of(const box& part, const box& tile) {
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

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE index_t node_traffic::bytes_of_parts(const plan& p, const message& m) {
    index_t bytes = 0;
    for (const tile_elements& x : m.parts) {
        for (const interval& e : x.elements) {
            bytes += e.size() * bytes_of(p.tiles[to_size(x.tile)].type);
        }
    }
    return bytes;
}

} // namespace tessera

namespace tessera::detail {

TESSERA_INLINE traffic_finder::traffic_finder(plan& p, const std::vector<int>& node_of, int nodes)
    : p_(p), node_of_(node_of), nodes_(nodes), tiles_(p.tiles.size()) {
    found_.after.resize(p.tasks.size());
    found_.before.resize(to_size(p.devices));
    for (int i = 0; i < static_cast<int>(p.tasks.size()); ++i) {
        note(i);
    }
}

TESSERA_INLINE node_traffic traffic_finder::run() {
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
    return std::move(found_);
}

TESSERA_INLINE void traffic_finder::note(int i) {
    const task& t = task_at(i);
    const int node = node_of_task(i);
    accesses_of(p_, t, own_);
    for (const access& a : own_) {
        const tile& x = tile_at(a.tile);
        if (x.device < 0) {
            continue; // an input, which every process has
        }
        uses& of = tiles_[to_size(a.tile)];
        const bool is_read = !a.write && t.kind() != task_kind::copy;
        if (is_read || (a.write && (is_persistent(x.kind) || leaves_something(t)))) {
            of.reads.push_back({i, node, {a.elements}});
        }
        if (a.write) {
            of.writes.push_back({i, node, {a.elements}});
        }
    }
    for (const copy_segment& s : t.copy().segments) {
        const tile& x = tile_at(s.source);
        const int root = p_.root(s.source);
        if (tile_at(root).device >= 0) {
            tiles_[to_size(root)].reads.push_back({i, node,
                                                   x.format == 0 && x.slices == 1
                                                       ? elements_of(s.region, x.region)
                                                       : elements_of_tile{{0, tile_at(root).elements}}});
        }
    }
}

TESSERA_INLINE bool traffic_finder::leaves_something(const task& t) {
    return t.kind() == task_kind::copy && !t.copy().clear &&
           !(t.copy().segments.size() == 1 && t.copy().segments[0].overwrite);
}

TESSERA_INLINE void traffic_finder::look_back(int t, const use& r) {
    const std::vector<use>& writes = tiles_[to_size(t)].writes;
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
    const int owner = node_of_[to_size(device)];
    if (owner != r.node) {
        add(message_in(found_.before[to_size(device)], r.node, -1), t, left);
    }
    for (std::size_t k = writes.size(); k-- > 0 && !left.empty();) { // of the run before
        if (writes[k].task >= r.task) {
            send(t, writes[k], r, left, false);
        }
    }
}

TESSERA_INLINE void traffic_finder::keep(int t) {
    const tile& x = tile_at(t);
    if (x.device >= 0 && is_persistent(x.kind)) {
        const use owner{static_cast<int>(p_.tasks.size()), node_of_[to_size(x.device)], {}};
        elements_of_tile left{{0, x.elements}};
        const std::vector<use>& writes = tiles_[to_size(t)].writes;
        for (std::size_t k = writes.size(); k-- > 0 && !left.empty();) {
            send(t, writes[k], owner, left, false);
        }
    }
}

TESSERA_INLINE void traffic_finder::send(int t, const use& w, const use& r, elements_of_tile& left, bool waits) {
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

TESSERA_INLINE void traffic_finder::tell_who_waits() {
    const auto tell = [&](int i, int node) {
        if (node != node_of_task(i)) {
            message_of(i, node, -1);
        }
    };
    for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
        for (const wait_for& w : task_at(i).waits) {
            tell(p_.order[to_size(w.list)][to_size(w.count - 1)], node_of_task(i));
        }
        for (int node = 0; node < nodes_ && p_.is_queued(i); ++node) {
            tell(i, node);
        }
    }
}

TESSERA_INLINE void traffic_finder::wait(int reader, int writer) {
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

TESSERA_INLINE node_traffic::message& traffic_finder::message_of(int writer, int node, int reader) {
    node_traffic::message& m = message_in(found_.after[to_size(writer)], node, reader);
    m.priority = p_.is_queued(writer) ? task_at(writer).priority : reader >= 0 ? task_at(reader).priority : -1;
    return m;
}

TESSERA_INLINE node_traffic::message& traffic_finder::message_in(std::vector<node_traffic::message>& all, int node,
                                                                 int reader) {
    for (node_traffic::message& m : all) {
        if (m.node == node && m.reader == reader) {
            return m;
        }
    }
    all.push_back({node, {}, reader});
    return all.back();
}

TESSERA_INLINE void traffic_finder::add(node_traffic::message& to, int t, const elements_of_tile& what) {
    for (tile_elements& x : to.parts) {
        if (x.tile == t) {
            add_elements(x.elements, what);
            return;
        }
    }
    to.parts.push_back({t, what});
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE node_traffic traffic_between_nodes(plan& p, const std::vector<int>& node_of, int nodes) {
    return detail::traffic_finder(p, node_of, nodes).run();
}

} // namespace tessera

#include "tessera/base/end_header.inl"
