// SPDX-License-Identifier: Apache-2.0
// What a synchronization policy is given: a network's gradients in the order in which they become ready, with predicted
// times.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/problem_text.hpp"
#include "tessera/net/first_users.hpp"
#include "tessera/op/analysis.hpp"
#include "tessera/strategy/synchronization.hpp"

#include <algorithm>
#include <vector>

namespace tessera::schedule {

/// A gradient of a whole parameter.
struct ready_gradient {
    int parameter = 0;
    index_t elements = 0;
    int layer = 0;     ///< the first operator that uses it: its place in the order of forward
    index_t ready = 0; ///< ns after the backward pass begins, as predicted
    element type = element::f32;
    index_t bytes() const { return elements * bytes_of(type); }
};

/// What ready times and the orders that follow from them are predicted with: those of one worker.
struct worker_speed {
    double flops_per_ns = 1000; ///< 1000: 10^12 FLOP/s
    double bytes_per_ns = 1;    ///< 1: 10^9 bytes/s each way
};

namespace detail {

inline message message_of(exchange method, const ready_gradient& x) { return {method, 0, {{x.parameter, 0, 1}}}; }

} // namespace detail

constexpr problem check_workers(const worker_speed& speed, int workers) {
    if (workers < 1) {
        return {rule::no_workers, -1, -1, workers, 1};
    }
    return speed.flops_per_ns > 0 ? problem{} : problem{rule::worker_does_not_compute, -1, -1, 0, 1};
}
constexpr problem check_servers(int servers) {
    return servers < 1 ? problem{rule::no_servers, -1, -1, servers, 1} : problem{};
}
constexpr problem check_slice(index_t elements) {
    return elements < 1 ? problem{rule::slice_is_empty, -1, -1, elements, 1} : problem{};
}

/// For policies with buckets.
constexpr problem check_bucket(index_t size) {
    return size < 1 ? problem{rule::bucket_is_empty, -1, -1, size, 1} : problem{};
}

/// The trained parameters' gradients, last layers first: backward takes twice the operations of forward and `workers`
/// share the batch. Throws tessera::error where there is no worker or it does not compute.
std::vector<ready_gradient> gradients_of(const graph_view& g, const worker_speed& speed = {}, int workers = 1);

/// The order in which one link carries what becomes ready, most urgent first (least layer, then least number), nothing
/// preempted: of what is ready, the next is handed to the link when at most `credit` bytes would be on their way, or
/// none are.
std::vector<std::size_t> priority_order(const std::vector<ready_gradient>& items, double bytes_per_ns, index_t credit);

/// Gradients cut as evenly as they come into slices of at most some elements, each a message of its own.
struct slicing {
    exchange how = exchange::server;
    int servers = 1;         ///< which slices take in turn
    index_t slice = 1;       ///< elements, at most
    double bytes_per_ns = 1; ///< of the link for which the order is made
    index_t credit = 0;      ///< bytes that may be on their way at a time; 0: one slice
};

/// Slices in the order of priority_order(). Throws tessera::error for slices of less than one element and for fewer
/// than one server.
synchronization prioritized_slices(const std::vector<ready_gradient>& gradients, const slicing& how);

} // namespace tessera::schedule

#ifndef TESSERA_COMPILED
#include "tessera/schedule/gradients.inl"
#endif

#include "tessera/base/end_header.inl"
