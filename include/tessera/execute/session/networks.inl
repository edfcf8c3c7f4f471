// SPDX-License-Identifier: Apache-2.0
// Bodies of networks.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/session/networks.hpp"

#include "tessera/net/with_batch.hpp"

#include <utility>

namespace tessera::detail {

TESSERA_INLINE const prediction_setting* session_networks::setting_of(const std::vector<int>& wanted) {
    for (const auto& x : settings_) {
        if (x->wanted == wanted) {
            return x.get();
        }
    }
    settings_.push_back(owned<prediction_setting>(new prediction_setting(setting_for(of_.view(), of_.how, wanted))));
    return settings_.back().get();
}

TESSERA_INLINE run_key session_networks::first_key() {
    run_key first{{of_.batch(), longest_of(of_.view())}};
    first.steps_per_plan = of_.how.steps_per_plan;
    if (!of_.options.for_training) {
        first.kind = run_kind::evaluation;
        first.steps_per_plan = 1;
        first.part = setting_of(all_predictions(of_.view()));
    }
    return first;
}

TESSERA_INLINE run_key session_networks::key_of_all(const run_key& first) const {
    const graph_view g = of_.view();
    bool has_loss = false;
    for (int op = 0; op < g.op_count; ++op) {
        has_loss = has_loss || g.is_loss(op);
    }
    run_key all = first;
    all.part = has_loss ? nullptr : first.part;
    return all;
}

TESSERA_INLINE graph_view session_networks::at(const prediction_setting* part, index_t length) const {
    const graph_view longest = part != nullptr ? part->part.network.view() : of_.view();
    if (length == longest_of(longest)) {
        return longest;
    }
    for (const auto& x : lengths_) {
        if (x->part == part && x->length == length) {
            return x->network.view();
        }
    }
    owned<network_of_length> made(new network_of_length{part, length, with_length(longest, length)});
    if (lengths_.size() >= most_ready_plans) {
        lengths_.erase(lengths_.begin());
    }
    lengths_.push_back(std::move(made));
    return lengths_.back()->network.view();
}

TESSERA_INLINE graph_view session_networks::at_length_of(std::span<const input_data> inputs) const {
    return at(nullptr, length_of(of_.view(), inputs));
}

TESSERA_INLINE batch_size session_networks::size_of(std::span<const input_data> inputs) const {
    const index_t length = length_of(of_.view(), inputs);
    return {check_inputs(at(nullptr, length), inputs), length};
}

TESSERA_INLINE bool session_networks::is_short(const run_key& key) const {
    return key.size.samples < of_.batch() || key.size.length < longest_of(of_.view());
}

TESSERA_INLINE fused_network session_networks::network_for(const run_key& key) const {
    const graph described = with_batch(at(key.part, key.size.length), key.size.samples);
    const strategy& s = key.part != nullptr ? key.part->how : of_.how;
    return of_.options.fuse ? fuse(described.view(), s, wanted_of(key), key.kind == run_kind::training)
                            : not_fused(described.view(), s);
}

TESSERA_INLINE plan session_networks::lowered(const fused_network& network, const run_key& key,
                                              const std::vector<tile>* stored) const {
    const graph_view g = network.network.view();
    lower_options o;
    o.kind = key.kind;
    o.update = of_.update;
    o.keep_gradients = of_.options.keep_gradients && key.kind == run_kind::training && !is_short(key);
    o.allow_empty = is_short(key);
    for (const int t : wanted_of(key)) {
        o.wanted.push_back(network.tensors[to_size(t)]);
    }
    o.stored = stored;
    strategy_view s = network.how.view();
    s.steps_per_plan = key.steps_per_plan;
    plan p = lower(g, s, of_.devices, o);
    if (key.kind == run_kind::training) {
        require_several_values(p, g);
    }
    return p;
}

TESSERA_INLINE std::vector<int> session_networks::wanted_of(const run_key& key) {
    std::vector<int> all;
    for (std::size_t i = 0; key.part != nullptr && i < key.part->wanted.size(); ++i) {
        all.push_back(key.part->part.tensors[to_size(key.part->wanted[i])]);
    }
    return all;
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
