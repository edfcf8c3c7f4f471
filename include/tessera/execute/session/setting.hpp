// SPDX-License-Identifier: Apache-2.0
// What a session was made of, which all of its parts read.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/backend.hpp"
#include "tessera/execute/local/workers.hpp"
#include "tessera/execute/ranks/field_lines.hpp"
#include "tessera/execute/ranks/training_identity.hpp"
#include "tessera/net/graph.hpp"
#include "tessera/net/parameter_groups.hpp"
#include "tessera/net/with_batch.hpp"
#include "tessera/op/optimizer.hpp"
#include "tessera/strategy/strategy.hpp"

#include <span>
#include <string_view>

namespace tessera::detail {

/// A network, how it is split and updated, and on which threads: the same for the whole life of a session. It owns
/// these values, and neither the threads nor the backend, which outlive it; what changes from step to step is in
/// training_progress and parameter_state.
struct session_setting {
    graph network; ///< for full batches of the longest sequences
    strategy how;
    optimizer update;
    session_options options;
    int devices;
    workers& threads;
    std::string_view backend_type;
    const void* backend;
    field_lines (*own_lines)(const void* backend); ///< of the backend's own options

    process_group* group() const { return threads.group(); }
    graph_view view() const { return network.view(); }
    /// Samples of a full batch.
    index_t batch() const { return network.tensors[0].extents.extent[0]; }
    int parameters() const { return static_cast<int>(network.parameters.size()); }
    const shape& extents_of(int parameter) const { return network.parameters[to_size(parameter)].extents; }

    /// Whether the optimizer keeps moving averages of the weights, and as which of its states.
    bool averages() const { return update.average != 0 && options.for_training; }
    int average_state() const { return update.own_state_count(); }

    /// Throws tessera::error for a strategy or an optimizer that breaks a rule, and for more devices than there are.
    void require_sense() const;
    /// Throw it for a parameter that the network does not have, a state that the optimizer does not keep (-1: the
    /// parameter itself), another number of values than the parameter has.
    void require_parameter(int p) const;
    void require_state(int state) const;
    void require_values(int p, std::span<const float> values) const;

    /// What the training is, field by field (execute/ranks/training_identity.hpp).
    field_lines identity_lines() const;
};

/// The fields of a backend's own options, as session_setting asks for them.
template <class B>
field_lines own_lines_of(const void* backend) {
    field_lines own;
    if constexpr (requires(const B& b) { b.made_with(); }) {
        own.add("", static_cast<const B*>(backend)->made_with());
    }
    return own;
}

/// `g` at any size of batch; not checked yet.
template <class B>
session_setting make_setting(const graph_view& g, const strategy& s, int devices, const optimizer& update,
                             const session_options& options, B& backend, workers& threads) {
    return {with_batch(g, g.tensors[0].extents[0]),
            s,
            update,
            options,
            devices,
            threads,
            full_type_name<B>(),
            &backend,
            &own_lines_of<B>};
}

} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/execute/session/setting.inl"
#endif

#include "tessera/base/end_header.inl"
