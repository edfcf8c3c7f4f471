// SPDX-License-Identifier: Apache-2.0
// The strategies that everybody knows: everything on one device, data parallel, model parallel, and one weird trick.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/typed_strategy.hpp"

namespace tessera::search {

enum class baseline : std::uint8_t {
    single_device,  ///< every operator whole, on the first device
    data_parallel,  ///< every operator split by samples
    model_parallel, ///< every operator split by channels or features
    /// convolutions and pools by samples, fully connected layers by features (Krizhevsky 2014, arXiv 1404.5997)
    one_weird_trick,
};

constexpr const char* to_text(baseline b) {
    constexpr const char* names[] = {"single device", "data parallel", "model parallel", "one weird trick"};
    return names[static_cast<int>(b)];
}

namespace detail {

/// Splits one loop in as many shards as there are devices, unevenly where they do not divide it, or in as many as it
/// has indices. An operator without the loop, or that cannot be split along it, stays whole.
constexpr configuration split_along(const description& d, loop_name name, int devices) {
    configuration c;
    const int l = d.find_loop(name);
    if (l < 0 || devices < 2 || !splittable(d, l)) {
        return c;
    }
    const index_t extent = d.loops[l].extent;
    c.degree[l] = extent < devices ? static_cast<int>(extent) : devices;
    c.uneven = extent % c.degree[l] != 0;
    c.reduces = role(d, l) == loop_role::coupled;
    return c;
}

} // namespace detail

/// The configuration of operator `op` under a baseline; legal for any batch and any number of devices.
constexpr configuration baseline_configuration(const graph_view& g, int op, int devices, baseline which) {
    const description d = g.describe(op);
    bool by_channel = which == baseline::model_parallel;
    if (which == baseline::one_weird_trick) {
        // Fully connected: from [N,C] to [N,C]. What reads or writes images is split by samples, the flattening in
        // between too.
        const op_node& node = g.ops[op];
        by_channel = g.tensors[node.inputs[0]].extents.rank == 2 && !d.facts.view;
    }
    switch (which) {
    case baseline::single_device:
        break;
    case baseline::data_parallel:
    case baseline::model_parallel:
    case baseline::one_weird_trick:
        return detail::split_along(d, by_channel ? loop_name::channel : loop_name::sample, devices);
    }
    return {};
}

/// A baseline as a strategy, at run time.
strategy make_baseline(const graph_view& g, int devices, baseline which);

inline strategy single_device(const graph_view& g) { return make_baseline(g, 1, baseline::single_device); }
strategy data_parallel(const graph_view& g, int devices);
strategy model_parallel(const graph_view& g, int devices);
strategy one_weird_trick(const graph_view& g, int devices);

namespace detail {

template <class Net, index_t Batch, int Devices, baseline Which>
constexpr auto make_static_baseline() {
    tessera::detail::strategy_storage<tessera::detail::counts_of<Net, Batch>.ops, 0> s;
    const graph_view g = describe<Net, Batch>();
    s.count = g.op_count;
    for (int op = 0; op < g.op_count; ++op) {
        s.ops[op] = baseline_configuration(g, op, Devices, Which);
    }
    s.refused = check_strategy(g, s.view(), Devices);
    return s;
}

} // namespace detail

/// A baseline as a type like strategy_of.
template <class Net, index_t Batch, int Devices, baseline Which>
struct static_baseline {
    using network = Net;
    static constexpr int devices = Devices;
    static constexpr index_t batch = Batch;
    static constexpr auto stored = detail::make_static_baseline<Net, Batch, Devices, Which>();
    static constexpr bool ok = check_network<Net, Batch>::ok && stored.refused.broken == rule::none;
    static constexpr strategy_view view() { return stored.view(); }
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/by_hand/baselines.inl"
#endif

#include "tessera/base/end_header.inl"
