// SPDX-License-Identifier: Apache-2.0
// What on<> and others<> say of a layer in a strategy that is a type: splits, devices, stage, recomputation.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/layout/typed_places.hpp"
#include "tessera/strategy/strategy.hpp"

namespace tessera {

namespace detail {

/// What an entry of a strategy that is a type says; all but layers once.
enum class says : std::uint8_t {
    layer,
    others,
    stages,
    micro_batches,
    schedule,
    statistics,
    parameters_on,
    overlap,
    sums_first,
    synchronization,
    steps_per_plan,
    precision,
    recomputation,
    state_on_host,
};
inline constexpr int kinds_of_entries = static_cast<int>(says::state_on_host) + 1;

} // namespace detail

// The names that loops are split by.
inline constexpr loop_name sample = loop_name::sample;
inline constexpr loop_name channel = loop_name::channel;
inline constexpr loop_name depth = loop_name::depth;
inline constexpr loop_name height = loop_name::height;
inline constexpr loop_name width = loop_name::width;
inline constexpr loop_name reduction = loop_name::reduction;

namespace detail {

/// What the options of one on<> amount to, while they are read.
struct option_state {
    configuration c;
    index_t* pool = nullptr;
    index_t pool_size = 0;
    const description* d = nullptr;
    problem refused;
    index_t gradient_of = -1;
    index_t placed = -1; ///< devices listed
    bool gathered = false;
    bool has_device = false; ///< otherwise that of its stage
    bool has_stage = false;  ///< otherwise that of stages_from<>

    constexpr void fail(rule what, int dimension, index_t found_number, index_t needed_number) {
        if (!refused) {
            refused = {what, -1, dimension, found_number, needed_number};
        }
    }
    constexpr int find(loop_name name) {
        const int l = d->find_loop(name);
        if (l < 0) {
            fail(rule::no_such_loop, static_cast<int>(name), 0, 1);
        } else if (c.degree[l] != 1) {
            fail(rule::loop_split_twice, static_cast<int>(name), 2, 1);
        }
        return refused ? -1 : l;
    }
};

} // namespace detail

/// Divides a loop in Degree even shards.
template <loop_name Name, int Degree>
struct split {
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::option_state& s) {
        const int l = s.find(Name);
        if (l >= 0) {
            s.c.degree[l] = Degree;
        }
    }
};
/// Divides a loop at the indices given.
template <loop_name Name, index_t... At>
struct cut {
    static constexpr int pool_size = sizeof...(At);
    static constexpr void apply(detail::option_state& s) {
        const int l = s.find(Name);
        if (l >= 0) {
            s.c.degree[l] = static_cast<int>(sizeof...(At)) + 1;
            s.c.cuts[l] = static_cast<int>(s.pool_size);
            ((s.pool[s.pool_size++] = At), ...);
        }
    }
};
/// Degrees need not divide their extents.
struct uneven {
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::option_state& s) { s.c.uneven = true; }
};
/// Splits of coupled loops (batch norm's samples, a cross-entropy's classes) are meant, with the all-reduce of
/// statistics.
struct with_reduction {
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::option_state& s) { s.c.reduces = true; }
};
/// Attention, split by positions: keys and values go round its devices in pieces, see configuration::ring.
struct ring {
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::option_state& s) { s.c.ring = true; }
};
/// The pipeline stage of the layer, counted from 0. What says no device runs on the first one of its stage.
template <int Number>
struct stage {
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::option_state& s) {
        s.c.stage = Number;
        s.has_stage = true;
    }
};
/// The layer's results are made again for backward in place of being kept. (Of what others<> configures, losses are
/// not.)
struct recompute {
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::option_state& s) { s.c.recompute = true; }
};
/// The layer's output waits for backward in the host's memory (Rhu et al. 2016, section 3): copied out after it is made,
/// and in before its first reader backward. Each way costs its bytes over the link to the host, (bytes out + bytes in) /
/// bandwidth, against a forward pass of the layer for recompute; intermediates stay on the device. Of a recomputed layer
/// and of a loss it says nothing.
struct offload {
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::option_state& s) { s.c.offload = true; }
};
/// States that the gradient of the layer's parameters is the sum over Count shards; refused where it is not, for
/// instance because replicas were counted.
template <int Count>
struct gradient_of {
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::option_state& s) { s.gradient_of = Count; }
};
/// Every shard receives its whole input. Refused where the layer splits the input along a coupled loop, whose point is
/// that it need not.
struct gathered {
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::option_state& s) { s.gathered = true; }
};

/// One instance of a layer that a network has several times, counted from 0.
template <class L, int Instance>
struct instance;

/// The configuration of a layer: of all its instances, or of one.
template <class L, class... Options>
struct on {
    static constexpr detail::says what = detail::says::layer;
    using layer_type = L;
    static constexpr type_key key = key_of<L>;
    static constexpr int which = -1;
    static constexpr bool all = true;
    static constexpr int pool_size = (0 + ... + Options::pool_size);
    static constexpr void apply(detail::option_state& s) { (Options::apply(s), ...); }
};
template <class L, int Instance, class... Options>
struct on<instance<L, Instance>, Options...> {
    static constexpr detail::says what = detail::says::layer;
    using layer_type = L;
    static constexpr type_key key = key_of<L>;
    static constexpr int which = Instance;
    static constexpr bool all = false;
    static constexpr int pool_size = (0 + ... + Options::pool_size);
    static constexpr void apply(detail::option_state& s) { (Options::apply(s), ...); }
};

/// The configuration of every layer that no on<> names.
template <class... Options>
struct others {
    static constexpr detail::says what = detail::says::others;
    static constexpr int pool_size = (0 + ... + Options::pool_size);
    static constexpr void apply(detail::option_state& s) { (Options::apply(s), ...); }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
