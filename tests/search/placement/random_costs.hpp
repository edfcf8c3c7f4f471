// SPDX-License-Identifier: Apache-2.0
// Small random cost graphs and machines, and a second interpreter of a step, which looks at every nanosecond.
#pragma once

#include "tessera/search/placement/evaluate.hpp"

#include <map>
#include <random>

namespace placement_test {

namespace sp = tessera::search::placement;
using tessera::index_t;

inline int below(std::mt19937& random, int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

/// Devices of one or two classes, each with its link to a switch, or every two with a link; 1 byte takes 1 or 2 ns.
inline tessera::device_graph small_machine(std::mt19937& random, int devices, index_t memory) {
    tessera::device_graph g;
    g.name = "small";
    const int classes = 1 + below(random, 2);
    for (int c = 0; c < classes; ++c) {
        tessera::device_class k;
        k.name = "kind";
        k.memory_bytes = memory;
        g.add_class(k);
    }
    const bool star = below(random, 2) == 0;
    for (int d = 0; d < devices; ++d) {
        g.add_device(below(random, classes), "device");
    }
    if (star) {
        g.add_switch("switch");
    }
    for (int d = 0; d < devices; ++d) {
        for (int e = 0; e < (star ? 1 : d); ++e) {
            g.add_link(d, star ? devices : e, 500 * (1 + below(random, 2)), below(random, 4), 1, below(random, 3) == 0);
        }
    }
    return g;
}

/// Times are 1 to 9 ns, or 0 and up with `idle`; bytes likewise.
inline sp::cost_graph small_graph(std::mt19937& random, int nodes, int classes, bool idle = false) {
    sp::cost_graph g;
    g.name = "small";
    g.backward = below(random, 3) != 0;
    const int least = idle ? 0 : 1;
    for (int v = 0; v < nodes; ++v) {
        sp::cost_node n;
        n.name = "node " + std::to_string(v);
        const int times = below(random, 2) == 0 ? 1 : classes;
        for (int c = 0; c < times; ++c) {
            n.times.push_back({least + below(random, 9), least + below(random, 9)});
        }
        n.output_bytes = least + below(random, 6);
        n.resident_bytes = below(random, 10);
        g.nodes.push_back(n);
    }
    std::vector<int> names(tessera::to_size(nodes)); // edges need not lead from lower to higher numbers
    for (int v = 0; v < nodes; ++v) {
        names[tessera::to_size(v)] = v;
    }
    std::shuffle(names.begin(), names.end(), random);
    for (int v = 0; v < nodes; ++v) {
        for (int w = v + 1; w < nodes; ++w) {
            if (below(random, 3) == 0) {
                const int from = names[tessera::to_size(v)];
                g.edges.push_back({from, names[tessera::to_size(w)],
                                   std::max<index_t>(least, g.nodes[tessera::to_size(from)].output_bytes)});
            }
        }
    }
    return g;
}

inline sp::assignment random_placement(std::mt19937& random, int nodes, int devices) {
    sp::assignment where;
    for (int v = 0; v < nodes; ++v) {
        where.push_back(below(random, devices));
    }
    return where;
}

/// A step, worked out nanosecond by nanosecond: what is ready queues up at all it needs and starts when it is the first
/// in every queue and all is free. Right for tasks and transfers that take at least 1 ns.
class slow_step {
public:
    slow_step(const sp::cost_graph& g, const tessera::cluster& on, const sp::assignment& where) : g_(g), on_(on) {
        const int n = g.count();
        const std::vector<int> rank = ranks();
        const auto node = [&](int v) -> const sp::cost_node& { return g.nodes[tessera::to_size(v)]; };
        const auto place = [&](int v) { return where[tessera::to_size(v)]; };
        for (int v = 0; v < n; ++v) {
            const sp::task_time t =
                node(v).times.size() == 1 ? node(v).times[0] : node(v).times[tessera::to_size(kind(place(v)))];
            items_["f" + std::to_string(v)] = {rank[tessera::to_size(v)], t.forward, 0, {place(v)}, {}};
            if (g.backward) {
                items_["b" + std::to_string(v)] = {
                    2 * n - 1 - rank[tessera::to_size(v)], t.backward, 0, {place(v)}, {"f" + std::to_string(v)}};
            }
        }
        for (const sp::cost_edge& e : g.edges) {
            const std::string reader = std::to_string(e.to);
            const std::string writer = std::to_string(e.from);
            if (place(e.from) == place(e.to)) {
                items_["f" + reader].after.push_back("f" + writer);
                if (g.backward) {
                    items_["b" + writer].after.push_back("b" + reader);
                }
                continue;
            }
            const std::string copy = writer + "." + std::to_string(place(e.to));
            const int number = rank[tessera::to_size(e.from)] * on.devices() + place(e.to);
            transfer("t" + copy, 2 * n + number, place(e.from), place(e.to), node(e.from).output_bytes);
            items_["t" + copy].after.push_back("f" + writer);
            items_["f" + reader].after.push_back("t" + copy);
            if (g.backward) {
                transfer("g" + copy, 2 * n + n * on.devices() + number, place(e.to), place(e.from),
                         node(e.from).output_bytes);
                items_["g" + copy].after.push_back("b" + reader);
                items_["b" + writer].after.push_back("g" + copy);
            }
        }
        run();
        live(where);
    }

    index_t end = 0;
    std::vector<index_t> peak;

private:
    struct item {
        int number = 0;
        index_t takes = 0;
        index_t late = 0; ///< of what it takes, after which its lanes are free already
        std::vector<int> needs;
        std::vector<std::string> after;
        index_t ready = -1;
        index_t start = -1;
        index_t done = -1;
    };

    int kind(int device) const {
        return on_.graph().components[tessera::to_size(device)].device_class; // devices come first
    }
    std::vector<int> ranks() const {
        std::vector<int> rank(g_.nodes.size(), -1);
        for (int next = 0; next < g_.count(); ++next) {
            for (int v = 0; v < g_.count(); ++v) {
                bool free = rank[tessera::to_size(v)] < 0;
                for (const sp::cost_edge& e : g_.edges) {
                    free = free && (e.to != v || rank[tessera::to_size(e.from)] >= 0);
                }
                if (free) {
                    rank[tessera::to_size(v)] = next;
                    break;
                }
            }
        }
        return rank;
    }
    void transfer(const std::string& name, int number, int from, int to, index_t bytes) {
        const tessera::route way = on_.between(from, to);
        item& t = items_[name];
        t.number = number;
        t.takes = way.time(bytes);
        t.late = way.latency;
        t.needs.clear();
        for (const int lane : way.lanes) {
            t.needs.push_back(on_.devices() + lane);
        }
    }
    void run() {
        std::size_t left = items_.size();
        std::map<int, index_t> free;
        for (index_t now = 0; left > 0; ++now) {
            std::vector<std::pair<std::pair<index_t, int>, item*>> queue;
            for (auto& [name, i] : items_) {
                index_t ready = 0;
                for (const std::string& before : i.after) {
                    const item& b = items_.at(before);
                    ready = b.start >= 0 && ready >= 0 && b.done <= now ? std::max(ready, b.done) : -1;
                }
                i.ready = ready;
                if (i.start < 0 && ready >= 0) {
                    queue.push_back({{ready, i.number}, &i});
                }
            }
            std::sort(queue.begin(), queue.end());
            std::map<int, bool> wanted;
            for (auto& [key, i] : queue) {
                bool starts = true;
                for (const int r : i->needs) {
                    starts = starts && !wanted[r] && free[r] <= now;
                }
                for (const int r : i->needs) {
                    wanted[r] = true;
                    free[r] = starts ? now + i->takes - i->late : free[r];
                }
                if (starts) {
                    i->start = now;
                    i->done = now + i->takes;
                    end = std::max(end, i->done);
                    --left;
                }
            }
        }
    }
    void live(const sp::assignment& where) {
        for (int d = 0; d < on_.devices(); ++d) {
            peak.push_back(0);
            for (index_t now = 0; now < end; ++now) {
                index_t sum = 0;
                for (int v = 0; v < g_.count(); ++v) {
                    const std::string name = std::to_string(v);
                    const bool here = where[tessera::to_size(v)] == d;
                    const auto copy = items_.find("t" + name + "." + std::to_string(d));
                    if (!here && copy == items_.end()) {
                        continue;
                    }
                    const item& first = here ? items_.at("f" + name) : copy->second;
                    index_t last = here && g_.backward ? items_.at("b" + name).done : first.done;
                    for (const auto& [other, i] : items_) { // those that read it here, and transfers of it from here
                        const bool sends = here && other.compare(0, name.size() + 2, "t" + name + ".") == 0;
                        last = sends && !g_.backward ? std::max(last, i.done) : last;
                    }
                    for (const sp::cost_edge& e : g_.edges) {
                        if (e.from == v && where[tessera::to_size(e.to)] == d) {
                            const std::string reader = (g_.backward ? "b" : "f") + std::to_string(e.to);
                            last = std::max(last, items_.at(reader).done);
                        }
                    }
                    sum += here ? g_.nodes[tessera::to_size(v)].resident_bytes : 0;
                    sum += first.start <= now && now < last ? g_.nodes[tessera::to_size(v)].output_bytes : 0;
                }
                peak.back() = std::max(peak.back(), sum);
            }
        }
    }

    const sp::cost_graph& g_;
    const tessera::cluster& on_;
    std::map<std::string, item> items_;
};

} // namespace placement_test
