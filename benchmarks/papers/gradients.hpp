// SPDX-License-Identifier: Apache-2.0
// What the tables of synchronization share: workers that train a network each, their gradients under a policy, and what
// a steady step takes.
#pragma once

#include "benchmarks/papers/hybrids.hpp"

namespace papers {

/// Where a convolution of 3 x 3 without strides takes 4/9 of its multiplications: by Winograd's F(2 x 2, 3 x 3), as GPU
/// libraries compute it (Lavin and Gray, CVPR 2016). Adds the times of a plan's tasks to a profile.
inline void add_winograd(ts::cost::profile& to, const ts::graph_view& g, const ts::plan& p,
                         const ts::device_class& on) {
    for (const ts::task& t : p.tasks) {
        if (t.kind() != ts::task_kind::compute || g.ops[t.op].attributes.kind != ts::op_kind::conv2d) {
            continue;
        }
        const auto a = g.ops[t.op].attributes.as<ts::op::conv2d_attributes>();
        if (a.window[0] == 3 && a.window[1] == 3 && a.stride[0] == 1 && a.stride[1] == 1 && a.dilation[0] == 1 &&
            a.groups == 1) {
            ts::cost::work w = ts::simulation::work_of(g, g.describe(t.op), p.tiles, t);
            w.flops = w.flops * 4 / 9;
            to.set(ts::simulation::signature_of(g, p.tiles, t), ts::cost::roofline_time(w, on));
        }
    }
}

/// When the last contribution to every parameter's gradient has been made in a step of a plan.
inline std::vector<index_t> ready_times(const ts::plan& p, const ts::simulation::timeline& t, int parameters,
                                        int step) {
    std::vector<index_t> ready(ts::to_size(parameters), 0);
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        const ts::task& x = p.tasks[i];
        for (const int w : x.writes) {
            const ts::tile& to = p.tiles[ts::to_size(w)];
            if (x.kind() == ts::task_kind::compute && x.step == step && to.kind == ts::tile_kind::parameter_gradient) {
                index_t& r = ready[ts::to_size(to.tensor)];
                r = std::max(r, t.tasks[i].end);
            }
        }
    }
    return ready;
}

/// Workers, one for each device: each has the network, normalizes its own samples, and shares what it trains.
class workers {
public:
    workers(const ts::graph& one, int count, const ts::device_class& on)
        : count_(count), class_(on), graph_(replicas_of(one, count)) {
        strategy_ = replicas_of(search::single_device(one.view()), count, 1);
        measure(one.view());
    }

    ts::graph_view view() const { return graph_.view(); }
    const ts::strategy& strategy() const { return strategy_; }
    int count() const { return count_; }
    /// Task times; `served`: 10^6 bytes per second at which a parameter server takes gradients in.
    ts::simulation::task_times times(index_t served = 0) const {
        ts::simulation::task_times t;
        t.measured = &winograd_;
        t.server_megabytes = served;
        return t;
    }
    /// A step of one worker alone.
    double alone_ms() const { return alone_; }
    /// Gradients with the times at which they are ready in the simulation of one worker, from the beginning of its
    /// backward pass.
    const std::vector<schedule::ready_gradient>& gradients() const { return gradients_; }

    ts::plan plan(const ts::synchronization& how, int steps_per_plan = 1) const {
        ts::strategy s = strategy_;
        s.sync = how;
        s.steps_per_plan = steps_per_plan;
        return ts::lower(graph_.view(), s.view(), count_);
    }
    /// A step in the middle of many: nothing but its own slices holds an operator up.
    double steady_ms(const ts::synchronization& how, const ts::cluster& on, const ts::simulation::task_times& t) const {
        ts::strategy s = strategy_;
        s.sync = how;
        return papers::steady_ms(graph_.view(), s, on, t, 6);
    }

private:
    void measure(const ts::graph_view& one) {
        const ts::strategy s = search::single_device(one);
        const ts::plan p = ts::lower(one, s.view(), 1);
        add_winograd(winograd_, one, p, class_);
        const ts::simulation::timeline t =
            ts::simulation::simulate(one, p, ts::cluster(nodes_of("one", class_, 1, 1, {})), times());
        alone_ = in_ms(t.makespan);
        index_t backward = t.makespan;
        for (std::size_t i = 0; i < p.tasks.size(); ++i) {
            const ts::task& x = p.tasks[i];
            const bool back = x.what == ts::pass::backward || x.what == ts::pass::backward_input ||
                              x.what == ts::pass::backward_weight;
            if (x.kind() == ts::task_kind::compute && back) {
                backward = std::min(backward, t.tasks[i].start);
            }
        }
        const std::vector<index_t> ready = ready_times(p, t, one.parameter_count, 0);
        std::vector<index_t> of_shared; // by the parameters' numbers among the workers
        for (int q = 0; q < one.parameter_count; ++q) {
            of_shared.insert(of_shared.end(), one.parameters[q].trained ? 1 : ts::to_size(count_),
                             ready[ts::to_size(q)] - backward);
        }
        gradients_ = schedule::gradients_of(graph_.view());
        for (schedule::ready_gradient& x : gradients_) {
            x.ready = std::max<index_t>(0, of_shared[ts::to_size(x.parameter)]);
        }
        std::sort(gradients_.begin(), gradients_.end(),
                  [](const schedule::ready_gradient& a, const schedule::ready_gradient& b) {
                      return a.ready != b.ready ? a.ready < b.ready : a.layer > b.layer;
                  });
    }

    int count_;
    ts::device_class class_;
    ts::graph graph_;
    ts::strategy strategy_;
    ts::cost::profile winograd_;
    double alone_ = 0;
    std::vector<schedule::ready_gradient> gradients_;
};

/// The messages of a strategy, of one slice each, in the order in which queues by priority would have let them go, as
/// far as a simulation of two steps tells: at which times gradients were ready, and how long after one message the next
/// left. `gradients` say in which layer each parameter is.
inline ts::synchronization queued_again(const ts::graph_view& g, const ts::strategy& s,
                                        const std::vector<schedule::ready_gradient>& gradients, const ts::cluster& on,
                                        const ts::simulation::task_times& times) {
    ts::strategy two = s;
    two.steps_per_plan = 2;
    const ts::plan p = ts::lower(g, two.view(), on.devices());
    const ts::simulation::timeline t = ts::simulation::simulate(g, p, on, times);
    const std::vector<index_t> ready = ready_times(p, t, g.parameter_count, 1);
    std::vector<index_t> left; // when messages did
    int known = -1;
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        const ts::task& x = p.tasks[i];
        if (x.step == 1 && x.kind() != ts::task_kind::compute &&
            (x.params().method == ts::exchange::server || x.params().message > known)) {
            left.push_back(t.tasks[i].start);
            known = std::max(known, x.params().message);
        } else if (x.step == 0) {
            known = std::max(known, x.params().message);
        }
    }
    struct waiting {
        int layer = 0;
        index_t ready = 0;
        const ts::message* what = nullptr;
    };
    std::vector<int> layer(ready.size(), 0);
    for (const schedule::ready_gradient& x : gradients) {
        layer[ts::to_size(x.parameter)] = x.layer;
    }
    std::vector<waiting> queue;
    for (const ts::message& m : s.sync.messages) {
        const auto parameter = ts::to_size(m.slices[0].parameter);
        queue.push_back({layer[parameter], ready[parameter], &m});
    }
    const std::vector<waiting> sent = queue;
    if (left.size() != sent.size()) { // what has no copies elsewhere does not travel
        return s.sync;
    }
    std::sort(queue.begin(), queue.end(), [](const waiting& a, const waiting& b) {
        const ts::gradient_slice& x = a.what->slices[0];
        const ts::gradient_slice& y = b.what->slices[0];
        return a.layer != b.layer           ? a.layer < b.layer
               : x.parameter != y.parameter ? x.parameter < y.parameter
                                            : x.slice < y.slice;
    });
    ts::synchronization after = s.sync;
    after.messages.clear();
    index_t now = 0;
    index_t each = 0; // ns from one message to the next, when that did not have to wait for its gradient
    for (std::size_t k = 0; k < sent.size(); ++k) {
        index_t soonest = INT64_MAX;
        for (const waiting& x : queue) {
            soonest = std::min(soonest, x.ready);
        }
        now = std::max(now, soonest);
        const auto next = std::find_if(queue.begin(), queue.end(), [now](const waiting& x) { return x.ready <= now; });
        after.messages.push_back(*next->what);
        queue.erase(next);
        if (k + 1 < sent.size() && sent[k + 1].ready <= left[k]) {
            each = left[k + 1] - left[k];
        }
        now += each;
    }
    return after;
}

} // namespace papers
