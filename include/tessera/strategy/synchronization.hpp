// SPDX-License-Identifier: Apache-2.0
// How gradients become new parameters, as a value. The policies in schedule/ make such values; lowering follows them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/compression.hpp"

#include <cstdint>
#include <vector>

namespace tessera {

/// How the members of a message (the devices that hold a copy of its parameters) sum its gradients and update its
/// parameters. S bytes, n members.
enum class exchange : std::uint8_t {
    sliced,     ///< reduce-scatter, every member updates its slice, all-gather of parameters: 2(n-1)/n S sent by each
    all_reduce, ///< reduce-scatter and all-gather of gradients, every member updates its whole copy: 2(n-1)/n S
    ring,       ///< the same sum, passed around a ring in 2(n-1) rounds that are tasks of their own: 2(n-1)/n S
    server,     ///< one member takes all gradients, updates and sends the parameters back: (n-1) S in, (n-1) S out
};

template <>
inline constexpr int value_count<exchange> = 4;

constexpr const char* to_text(exchange e) {
    constexpr const char* names[] = {"sliced", "all_reduce", "ring", "server"};
    return names[static_cast<int>(e)];
}

/// Slice `slice` of `slices` equal ones of a parameter's elements (of each of its shards, where it is split over
/// devices).
struct gradient_slice {
    int parameter = 0;
    int slice = 0;
    int slices = 1;
    friend constexpr bool operator==(const gradient_slice& a, const gradient_slice& b) { return same_fields(a, b); }

    template <class See>
    static constexpr void each_field(See&& see) {
        see("parameter", &gradient_slice::parameter, {});
        see("slice", &gradient_slice::slice, {});
        see("slices", &gradient_slice::slices, {.least = 1});
    }
};

/// Gradients that travel together. Of those that the same devices hold copies of, cut alike, each member sums all with
/// one task and updates all with one: one collective, however many they are.
struct message {
    exchange method = exchange::sliced;
    int server = 0; ///< which of the members it is, counted from 0 and around
    std::vector<gradient_slice> slices;
    friend bool operator==(const message& a, const message& b) { return same_fields(a, b); }

    template <class See>
    static constexpr void each_field(See&& see) {
        see("how", &message::method, {});
        see("server", &message::server, {});
        see("slices", &message::slices, {});
    }
};

enum class sync_time : std::uint8_t {
    ready,          ///< as soon as it can
    after_backward, ///< when all gradients are there
};

template <>
inline constexpr int value_count<sync_time> = 2;

constexpr const char* to_text(sync_time t) { return t == sync_time::ready ? "ready" : "after_backward"; }

/// Without messages: every gradient by itself, sliced, as soon as it is ready.
struct synchronization {
    std::vector<message> messages; ///< in order of issue, which is the same on all devices: none overtakes another
    sync_time sum_at = sync_time::ready;
    /// after_backward: what is summed waits (each member keeps its slice, or the whole sum if it updates its whole
    /// copy) until all gradients are there; with ready, summing and updating are one.
    sync_time update_at = sync_time::ready;
    /// What goes to a server and back (each such message is a push of every member, an update and a pull) waits in a
    /// queue of its server's and leaves when it can, that of the layer that comes first forward before others; no
    /// message waits for one issued before it, and no step for messages of the step before, but for those of the
    /// parameters that it reads. Sums keep their order of summands. Without effect on messages that have no server, on
    /// updates that wait for all gradients, and where a backend has no such queues (then messages go in their order).
    bool urgent_first = false;
    /// Parameters are stored as slices, one on each device that needs them, gathered before an operator's tasks forward
    /// and again before those backward, and given up after them (ZeRO stage 3).
    bool shards_parameters = false;
    /// k > 0: every copy is updated from its own device's gradients alone, and every k steps the copies are averaged.
    int average_every = 0;
    /// What copies of a parameter exchange of its gradients: each device compresses its own and sends that to all
    /// others, (n-1) times compression_setting::words() words of n devices, and each adds up what all have sent.
    /// Messages are all_reduce then. What a device leaves out it keeps for the next step.
    compression compress = compression::none;
    int compress_block = usual_block;    ///< elements that share a scale
    int keep_one_in = usual_keep_one_in; ///< compression::top_k sends one of so many elements

    /// In a plan of several steps: parameters miss the gradients of at most so many steps before. What a step sums
    /// waits until that many further steps have gone backward, or the plan has ended, and its update is then that of
    /// its own step; no gradient is left out.
    int staleness = 0;

    constexpr compression_setting setting() const { return {compress, compress_block, keep_one_in}; }
    bool is_usual() const { return *this == synchronization{}; }
    friend bool operator==(const synchronization& a, const synchronization& b) { return same_fields(a, b); }

    template <class See>
    static constexpr void each_field(See&& see) {
        using s = synchronization;
        see("messages", &s::messages, {});
        see("sum_at", &s::sum_at, {});
        see("update_at", &s::update_at, {});
        see("urgent_first", &s::urgent_first, {});
        see("shards_parameters", &s::shards_parameters, {});
        see("average_every", &s::average_every, {.least = 1});
        see("compress", &s::compress, {});
        see("compress_block", &s::compress_block, {.least = 1});
        see("keep_one_in", &s::keep_one_in, {.least = 1});
        see("staleness", &s::staleness, {.least = 1});
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
