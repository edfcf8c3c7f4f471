// SPDX-License-Identifier: Apache-2.0
// Pipelines in a strategy that is a type: pipeline<one_forward_one_backward>. The schedules' own files say what their
// types are.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/pipeline.hpp"
#include "tessera/strategy/typed_options.hpp"

namespace tessera {

/// The devices of every worker of a pipeline: worker w has those from Count * w on.
template <int Count>
struct devices_each {
    static constexpr int width = Count;
};
/// Which micro-batches recompute what their operators say they recompute.
template <schedule::rematerialize Which>
struct rematerialized {
    static constexpr schedule::rematerialize again = Which;
};

namespace schedule::detail {

template <class Option>
constexpr int width_of(int so_far) {
    if constexpr (requires { Option::width; }) {
        return Option::width;
    } else {
        return so_far;
    }
}

/// What most schedules' types have in common: stage i is on worker i.
struct one_stage_each {
    static constexpr int worker_of(int stage, int) { return stage; }
};

} // namespace schedule::detail

/// The stages as a pipeline in this order. Layers that say no device run on the first one of their stage's worker. An
/// Order is a type with
///     static constexpr problem check(int stages, int micro_batches);         // by itself
///     static constexpr schedule_facts facts(int stages, int micro_batches);  // of what make() returns
///     static constexpr int worker_of(int stage, int stages);
///     static pipeline_schedule make(int stages, int micro_batches);
template <class Order, class... Options>
struct pipeline {
    static constexpr detail::says what = detail::says::schedule;
    static constexpr int pool_size = 0;
    static constexpr int width = [] {
        int n = 1;
        ((n = schedule::detail::width_of<Options>(n)), ...);
        return n;
    }();

    static constexpr problem check(const strategy_view& s) {
        if (width < 1) {
            return {rule::stage_without_devices, -1, -1, width, 1};
        }
        return Order::check(count(s), s.micro_batches);
    }
    static constexpr schedule_facts facts(const strategy_view& s) { return Order::facts(count(s), s.micro_batches); }
    static constexpr int first_device(const strategy_view& s, int stage) {
        return width * Order::worker_of(stage, count(s));
    }
    /// Orders that are made from numbers wait for nothing that comes later, whatever stages read of others before them.
    static constexpr problem check_order(const graph_view&, const strategy_view&) { return {}; }
    static pipeline_schedule make_schedule(const graph_view&, const strategy_view& s) {
        pipeline_schedule made = Order::make(count(s), s.micro_batches);
        (keep<Options>(made), ...);
        return made;
    }

private:
    static constexpr int count(const strategy_view& s) { return static_cast<int>(stages_of(s)); }
    template <class Option>
    static void keep(pipeline_schedule& made) {
        if constexpr (requires { Option::again; }) {
            schedule::keep_results(made, Option::again);
        }
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
