// SPDX-License-Identifier: Apache-2.0
// What layouts and strategies that are types say alike: copies, summands, and on which devices shards lie. apply() puts
// it into what a strategy says of a layer, s.c being its configuration.
#pragma once
#include "tessera/base/begin_header.inl"

namespace tessera {

/// Every shard is computed Count times.
template <int Count>
struct replicate {
    static constexpr int pool_size = 0;
    template <class State>
    static constexpr void apply(State& s) {
        s.c.replicate = Count;
    }
};
/// Passes a partial tensor of Parts parts on without adding them up; for linear layers.
template <int Parts>
struct partial {
    static constexpr int pool_size = 0;
    template <class State>
    static constexpr void apply(State& s) {
        s.c.partial = Parts;
    }
};
/// The device of every shard, in order.
template <int... Devices>
struct place {
    static constexpr int pool_size = sizeof...(Devices);
    template <class State>
    static constexpr void apply(State& s) {
        s.c.devices = static_cast<int>(s.pool_size);
        s.placed = sizeof...(Devices);
        s.has_device = true;
        ((s.pool[s.pool_size++] = Devices), ...);
    }
};
/// Shard i runs on device Start + Stride * i.
template <int Start, int Stride = 1>
struct from_device {
    static constexpr int pool_size = 0;
    template <class State>
    static constexpr void apply(State& s) {
        s.c.start = Start;
        s.c.stride = Stride;
        s.has_device = true;
    }
};
} // namespace tessera

#include "tessera/base/end_header.inl"
