// SPDX-License-Identifier: Apache-2.0
// One step of a placement, forward and backward, as a deterministic simulation by events on a device graph.
//
// A device runs one task at a time, a lane of a link carries one transfer at a time; both take what is ready first,
// among equals forward tasks in topological order, backward tasks in the reverse, transfers in the order of their
// producers. An output goes to every other device that reads it once; when all its readers there have run backward, one
// gradient of as many bytes comes back. A transfer holds all lanes of its route for bytes / bandwidth and arrives
// `latency` later.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/machine/cluster.hpp"
#include "tessera/search/placement/cost_graph.hpp"

namespace tessera::search::placement {

/// From when to when bytes are in the memory of a device; not at all where it does not end after it begins.
struct life {
    index_t begin = 0;
    index_t end = 0;
};

/// Runs steps of one graph on one machine, which must outlive it, one placement after the other.
class step_events {
public:
    /// Throws tessera::error for a graph that is not sound, has a cycle or lacks times for the machine's kinds of
    /// devices.
    step_events(const cost_graph& g, const cluster& on);

    const cost_graph& graph() const { return *graph_; }
    const graph_order& order() const { return order_; }
    int devices() const { return devices_; }
    index_t capacity(int device) const { return capacity_[to_size(device)]; } ///< bytes; 0: not known
    const route& between(int from, int to) const { return routes_[to_size(from * devices_ + to)]; }
    /// Of a node on a device; of one that its kind cannot run the slowest that is known.
    task_time time(int node, int device) const;
    bool supports(int node, int device) const;

    /// Runs a step. Throws tessera::error unless every node has a device that exists.
    void simulate(const assignment& where);

    index_t step() const { return step_; }                     ///< ns of the step that was run last
    index_t sent_bytes() const { return sent_; }               ///< over links, forward and backward
    const std::vector<index_t>& busy() const { return busy_; } ///< ns that each device computes
    /// Start and end of the forward task of node v (task v) or of its backward task (task v + nodes) in the step that
    /// was run last.
    std::pair<index_t, index_t> when(int task) const { return {started_[to_size(task)], ended_[to_size(task)]}; }

    const life& output_life(int v) const { return output_[to_size(v)]; }
    const life& copy_life(int v, int device) const { return copy_[copy_at(v, device)]; }
    /// Of what v makes and nodes on a device read.
    index_t bytes_of(int v, int device) const;

private:
    /// Numbers: forward tasks 0 to n-1 by position, backward tasks n to 2n-1 by position from the end, then transfers
    /// by producer and device.
    struct waiting {
        index_t ready = 0;
        index_t number = 0; ///< order among equals, and what it is
        friend bool operator>(const waiting& a, const waiting& b) {
            return a.ready != b.ready ? a.ready > b.ready : a.number > b.number;
        }
    };

    static int class_number(const cluster& on, int device);

    void check(const assignment& where) const;

    int device_of(int v) const { return (*where_)[to_size(v)]; }
    std::size_t copy_at(int v, int device) const { return to_size(v) * to_size(devices_) + to_size(device); }

    /// What has to be known before anything starts: what every task waits for, and how many bytes go where.
    void begin(const assignment& where);

    void push(index_t ready, index_t number);

    void run(int v, index_t ready, bool backward);

    /// An input of v is there.
    void arrived(int v, index_t when);
    /// A part of what the backward task of v waits for is there.
    void grown(int v, index_t when);
    /// A task of device d that reads what v makes has ended.
    void read(int v, int d, index_t when, bool backward);

    /// The output of v to a device, or the gradient of that back from it.
    void send(int v, int device, index_t ready, bool backward);

    const cost_graph* graph_;
    graph_order order_;
    int devices_ = 0;
    std::vector<int> class_of_;
    std::vector<index_t> capacity_;
    std::vector<route> routes_;
    const assignment* where_ = nullptr; ///< while a placement is priced
    index_t step_ = 0;
    index_t sent_ = 0;
    std::vector<index_t> lane_free_, device_free_, busy_;
    std::vector<int> missing_;   ///< of forward tasks, then of backward tasks
    std::vector<index_t> ready_; ///< likewise: when what has come so far was there
    std::vector<index_t> started_, ended_;
    std::vector<index_t> copy_bytes_; ///< by node and device
    std::vector<int> readers_;        ///< by node and device: edges whose backward task has not run
    std::vector<index_t> gradient_ready_;
    std::vector<life> output_, copy_;
    std::vector<waiting> heap_;
};

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/step_events.inl"
#endif

#include "tessera/base/end_header.inl"
