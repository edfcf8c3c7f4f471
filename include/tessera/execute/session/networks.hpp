// SPDX-License-Identifier: Apache-2.0
// The networks that a session's plans are of: whole or what a prediction needs, for a size of batch and a length of
// sequences, with expressions fused; and the plans that lowering makes of them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/owned.hpp"
#include "tessera/execute/input_data.hpp"
#include "tessera/execute/session/run_key.hpp"
#include "tessera/execute/session/setting.hpp"
#include "tessera/net/with_length.hpp"
#include "tessera/plan/fuse.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/plan/one_value.hpp"

#include <span>
#include <vector>

namespace tessera::detail {

/// From a key to a logical plan, without a backend. Owns the settings of predictions, for good, and networks of
/// lengths that were asked for lately; plans and what is bound are plan_cache's.
class session_networks {
public:
    explicit session_networks(const session_setting& of) : of_(of) {}
    session_networks(const session_networks&) = delete;
    session_networks& operator=(const session_networks&) = delete;

    /// The network of a prediction of these tensors; the same address each time.
    const prediction_setting* setting_of(const std::vector<int>& wanted);
    /// Of the run that a session keeps ready: training on full batches, or where it does not train predictions of them.
    run_key first_key();
    /// The same with all parameters in it: evaluations have losses, and the mirrored replica of a schedule.
    run_key key_of_all(const run_key& first) const;

    /// The network (null: the whole) at a length of sequences; good until the next call.
    graph_view at(const prediction_setting* part, index_t length) const;
    /// The whole network at the length of a batch's sequences.
    graph_view at_length_of(std::span<const input_data> inputs) const;
    /// Of a batch, which is checked.
    batch_size size_of(std::span<const input_data> inputs) const;
    bool is_short(const run_key& key) const;

    /// What a plan is made of: the network and the strategy of a run, with expressions fused.
    fused_network network_for(const run_key& key) const;
    /// Its logical plan. `stored`: the tiles of parameters that are there, null before there are any.
    plan lowered(const fused_network& network, const run_key& key, const std::vector<tile>* stored) const;

private:
    struct network_of_length {
        const prediction_setting* part;
        index_t length;
        graph network;
    };

    /// The tensors that a run is asked for, by their numbers in its network before it is rewritten.
    static std::vector<int> wanted_of(const run_key& key);

    const session_setting& of_;
    std::vector<owned<prediction_setting>> settings_;       ///< of predictions that were asked for
    mutable std::vector<owned<network_of_length>> lengths_; ///< shorter than the longest, the newest last
};

} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/execute/session/networks.inl"
#endif

#include "tessera/base/end_header.inl"
