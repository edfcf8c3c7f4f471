// SPDX-License-Identifier: Apache-2.0
// Bodies of step_events.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/step_events.hpp"

namespace tessera::search::placement {

TESSERA_INLINE step_events::step_events(const cost_graph& g, const cluster& on)
    : graph_(&g), order_(g), devices_(on.devices()) {
    require_times(g, on.graph());
    double most = 0;
    for (int d = 0; d < devices_; ++d) {
        class_of_.push_back(class_number(on, d));
        capacity_.push_back(on.class_of(d).memory_bytes);
    }
    routes_.resize(to_size(devices_ * devices_));
    index_t slowest = 1;
    for (int d = 0; d < devices_ * devices_; ++d) {
        routes_[to_size(d)] = on.between(d / devices_, d % devices_);
        slowest = std::max(slowest, routes_[to_size(d)].time(1'000'000'000));
    }
    for (const cost_edge& e : g.edges) {
        most += 2 * static_cast<double>(e.bytes) * static_cast<double>(slowest) * 1e-9 + 2e9;
    }
    for (const cost_node& n : g.nodes) {
        index_t time = 0;
        for (const task_time& t : n.times) {
            time = std::max(time, t.forward + t.backward);
        }
        most += static_cast<double>(time);
    }
    if (most > 0x1p61) {
        detail::refuse_graph(g, "takes up to " + fixed_text(most * 1e-9) +
                                    " s per step, more than can be counted in ns; divide its times and bytes");
    }
    lane_free_.resize(to_size(on.lanes()));
    const std::size_t n = g.nodes.size();
    const std::size_t copies = n * to_size(devices_);
    missing_.resize(2 * n);
    ready_.resize(2 * n);
    copy_bytes_.assign(copies, 0);
    readers_.assign(copies, 0);
    gradient_ready_.resize(copies);
    output_.resize(n);
    copy_.resize(copies);
}

TESSERA_INLINE task_time step_events::time(int node, int device) const {
    const cost_node& n = graph_->nodes[to_size(node)];
    const task_time& own = time_on(n, class_of_[to_size(device)]);
    if (own.forward != unsupported) {
        return own;
    }
    task_time slowest;
    for (const task_time& t : n.times) {
        slowest = t.forward + t.backward > slowest.forward + slowest.backward ? t : slowest;
    }
    return slowest;
}

TESSERA_INLINE bool step_events::supports(int node, int device) const {
    return time_on(graph_->nodes[to_size(node)], class_of_[to_size(device)]).forward != unsupported;
}

TESSERA_INLINE void step_events::simulate(const assignment& where) {
    begin(where);
    const index_t n = graph_->count();
    while (!heap_.empty()) {
        std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
        const waiting now = heap_.back();
        heap_.pop_back();
        if (now.number < n) {
            run(order_.order[to_size(now.number)], now.ready, false);
        } else if (now.number < 2 * n) {
            run(order_.order[to_size(2 * n - 1 - now.number)], now.ready, true);
        } else {
            const index_t transfer = (now.number - 2 * n) % (n * devices_);
            const int v = order_.order[to_size(transfer / devices_)];
            send(v, static_cast<int>(transfer % devices_), now.ready, now.number - 2 * n >= n * devices_);
        }
    }
}

TESSERA_INLINE index_t step_events::bytes_of(int v, int device) const {
    const index_t all = graph_->nodes[to_size(v)].output_bytes;
    const index_t read = copy_bytes_[copy_at(v, device)];
    return all > 0 ? std::min(all, read) : read;
}

TESSERA_INLINE int step_events::class_number(const cluster& on, int device) {
    int seen = 0;
    for (const component& c : on.graph().components) {
        if (c.device_class >= 0 && seen++ == device) {
            return c.device_class;
        }
    }
    return 0;
}

TESSERA_INLINE void step_events::check(const assignment& where) const {
    if (where.size() != graph_->nodes.size()) {
        detail::refuse_graph(*graph_, "has " + std::to_string(graph_->nodes.size()) +
                                          " nodes, but the placement is of " + std::to_string(where.size()) +
                                          "; give the device of each");
    }
    for (int v = 0; v < graph_->count(); ++v) {
        const int d = where[to_size(v)];
        if (d < 0 || d >= devices_) {
            detail::refuse_graph(*graph_, detail::text_of_node(*graph_, v) + " is placed on device " +
                                              std::to_string(d) + "; there are devices 0 to " +
                                              std::to_string(devices_ - 1));
        }
    }
}

TESSERA_INLINE void step_events::begin(const assignment& where) {
    check(where);
    where_ = &where;
    const int n = graph_->count();
    step_ = sent_ = 0;
    std::fill(lane_free_.begin(), lane_free_.end(), 0);
    device_free_.assign(to_size(devices_), 0);
    busy_.assign(to_size(devices_), 0);
    std::fill(ready_.begin(), ready_.end(), 0);
    started_.assign(to_size(2 * n), 0);
    ended_.assign(to_size(2 * n), 0);
    std::fill(copy_bytes_.begin(), copy_bytes_.end(), 0);
    std::fill(readers_.begin(), readers_.end(), 0);
    std::fill(gradient_ready_.begin(), gradient_ready_.end(), 0);
    std::fill(copy_.begin(), copy_.end(), life{});
    for (int v = 0; v < n; ++v) {
        missing_[to_size(v)] = order_.first_in[to_size(v) + 1] - order_.first_in[to_size(v)];
        missing_[to_size(n + v)] = 1; // its forward task, and the gradients of what reads it
    }
    for (const cost_edge& e : graph_->edges) {
        const int there = device_of(e.to);
        const std::size_t c = copy_at(e.from, there);
        if (++readers_[c] == 1 && there != device_of(e.from)) {
            ++missing_[to_size(n + e.from)];
        }
        copy_bytes_[c] += e.bytes; // never more than the whole output, see bytes_of
        missing_[to_size(n + e.from)] += there == device_of(e.from) ? 1 : 0;
    }
    heap_.clear();
    for (int v : order_.order) {
        if (missing_[to_size(v)] == 0) {
            push(0, order_.position[to_size(v)]);
        }
    }
}

TESSERA_INLINE void step_events::push(index_t ready, index_t number) {
    heap_.push_back({ready, number});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
}

TESSERA_INLINE void step_events::run(int v, index_t ready, bool backward) {
    const int d = device_of(v);
    const int n = graph_->count();
    const task_time takes = time(v, d);
    const index_t start = std::max(ready, device_free_[to_size(d)]);
    const index_t end = start + (backward ? takes.backward : takes.forward);
    device_free_[to_size(d)] = end;
    busy_[to_size(d)] += end - start;
    step_ = std::max(step_, end);
    const std::size_t task = to_size(backward ? n + v : v);
    started_[task] = start;
    ended_[task] = end;
    if (!backward) {
        output_[to_size(v)] = {start, end};
        for (int k = order_.first_out[to_size(v)]; k < order_.first_out[to_size(v) + 1]; ++k) {
            const int to = device_of(graph_->edges[to_size(order_.out[to_size(k)])].to);
            const std::size_t c = copy_at(v, to);
            if (to == d) {
                arrived(graph_->edges[to_size(order_.out[to_size(k)])].to, end);
            } else if (copy_[c].end == 0) { // not under way yet
                copy_[c].end = 1;
                push(end, 2 * index_t{n} + index_t{order_.position[to_size(v)]} * devices_ + to);
            }
        }
        if (graph_->backward) {
            grown(v, end);
        }
    }
    for (int k = order_.first_in[to_size(v)]; k < order_.first_in[to_size(v) + 1]; ++k) {
        read(graph_->edges[to_size(order_.in[to_size(k)])].from, d, end, backward);
    }
    if (backward) {
        output_[to_size(v)].end = end;
    }
}

TESSERA_INLINE void step_events::arrived(int v, index_t when) {
    ready_[to_size(v)] = std::max(ready_[to_size(v)], when);
    if (--missing_[to_size(v)] == 0) {
        push(ready_[to_size(v)], order_.position[to_size(v)]);
    }
}

TESSERA_INLINE void step_events::grown(int v, index_t when) {
    const std::size_t n = graph_->nodes.size();
    ready_[n + to_size(v)] = std::max(ready_[n + to_size(v)], when);
    if (--missing_[n + to_size(v)] == 0) {
        push(ready_[n + to_size(v)], 2 * static_cast<index_t>(n) - 1 - order_.position[to_size(v)]);
    }
}

TESSERA_INLINE void step_events::read(int v, int d, index_t when, bool backward) {
    const std::size_t c = copy_at(v, d);
    const bool here = device_of(v) == d;
    if (!backward) {
        if (!graph_->backward) {
            life& alive = here ? output_[to_size(v)] : copy_[c];
            alive.end = std::max(alive.end, when);
        }
        return;
    }
    if (here) {
        return grown(v, when);
    }
    gradient_ready_[c] = std::max(gradient_ready_[c], when);
    copy_[c].end = std::max(copy_[c].end, when);
    if (--readers_[c] == 0) {
        const index_t n = graph_->count();
        push(gradient_ready_[c], 2 * n + n * devices_ + index_t{order_.position[to_size(v)]} * devices_ + d);
    }
}

TESSERA_INLINE void step_events::send(int v, int device, index_t ready, bool backward) {
    const int from = backward ? device : device_of(v);
    const int to = backward ? device_of(v) : device;
    const index_t bytes = bytes_of(v, device);
    const route& way = routes_[to_size(from * devices_ + to)];
    index_t start = ready;
    index_t end = ready;
    if (bytes > 0) {
        for (const int lane : way.lanes) {
            start = std::max(start, lane_free_[to_size(lane)]);
        }
        end = start + way.time(bytes);
        for (const int lane : way.lanes) {
            lane_free_[to_size(lane)] = end - way.latency;
        }
        sent_ += bytes;
    }
    step_ = std::max(step_, end);
    if (backward) {
        return grown(v, end);
    }
    copy_[copy_at(v, device)] = {start, end};
    if (!graph_->backward) {
        output_[to_size(v)].end = std::max(output_[to_size(v)].end, end);
    }
    for (int k = order_.first_out[to_size(v)]; k < order_.first_out[to_size(v) + 1]; ++k) {
        const int w = graph_->edges[to_size(order_.out[to_size(k)])].to;
        if (device_of(w) == device) {
            arrived(w, end);
        }
    }
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
