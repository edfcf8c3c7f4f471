// SPDX-License-Identifier: Apache-2.0
// Bodies of lowering_undo.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/lowering_undo.hpp"

#include <utility>

namespace tessera::simulation {

TESSERA_INLINE lowering_undo remember(lowered_fragments& x, const touched_fragments& touched,
                                      const std::vector<change>& changes) {
    const lowering::micro_batch_places& m = x.batch();
    lowering_undo undo;
    for (const change& c : changes) {
        undo.ops.push_back({c.op, x.how.ops[to_size(c.op)]});
        undo.shards.push_back(m.shards[to_size(c.op)]);
    }
    undo.pool = x.how.pool.size();
    undo.tiles = x.out.p.tiles.size();
    undo.moved_bytes = x.out.p.moved_bytes;
    undo.tensor_places.assign(to_size(x.in.g.tensor_count), -1);
    undo.parameter_places.assign(to_size(x.in.g.parameter_count), -1);
    const auto save = [&](int t) {
        if (undo.tensor_places[to_size(t)] < 0) {
            undo.tensor_places[to_size(t)] = static_cast<int>(undo.tensors.size());
            undo.tensors.push_back({t, m.values[to_size(t)], m.gathered_values[to_size(t)], m.gradients[to_size(t)],
                                    m.gathered_gradients[to_size(t)]});
        }
    };
    for (int f : touched.list) {
        const op_node& node = x.in.g.ops[x.operator_of(f)];
        save(node.output);
        for (int t : node.inputs) {
            save(t);
        }
        for (int p : node.parameters) {
            if (undo.parameter_places[to_size(p)] < 0) {
                undo.parameter_places[to_size(p)] = static_cast<int>(undo.parameters.size());
                undo.parameters.push_back(
                    {p, x.places.parameters[to_size(p)], x.places.parameter_gradients[to_size(p)]});
            }
        }
        x.out.p.moved_bytes -= x.fragments[to_size(f)].moved_bytes;
        undo.fragments.push_back(std::move(x.fragments[to_size(f)]));
    }
    undo.intermediate_count = m.intermediates.size();
    for (std::size_t i = 0; i < m.intermediates.size(); ++i) {
        if (touched.contains(x.backward_of(m.intermediates[i].first / max_operands))) {
            undo.intermediates.push_back({i, m.intermediates[i].second});
        }
    }
    return undo;
}

TESSERA_INLINE void restore(lowered_fragments& x, const touched_fragments& touched, lowering_undo&& undo) {
    lowering::micro_batch_places& m = x.batch();
    for (std::size_t i = undo.ops.size(); i-- > 0;) {
        x.how.ops[to_size(undo.ops[i].first)] = undo.ops[i].second;
        m.shards[to_size(undo.ops[i].first)] = std::move(undo.shards[i]);
    }
    x.how.pool.resize(undo.pool);
    x.in.s = x.how.view();
    for (lowering_undo::tensor& t : undo.tensors) {
        m.values[to_size(t.which)] = std::move(t.values);
        m.gathered_values[to_size(t.which)] = std::move(t.gathered_values);
        m.gradients[to_size(t.which)] = std::move(t.gradients);
        m.gathered_gradients[to_size(t.which)] = std::move(t.gathered_gradients);
    }
    for (lowering_undo::parameter& p : undo.parameters) {
        x.places.parameters[to_size(p.which)] = std::move(p.copies);
        x.places.parameter_gradients[to_size(p.which)] = std::move(p.gradients);
    }
    for (std::size_t i = 0; i < undo.fragments.size(); ++i) {
        x.fragments[to_size(touched.list[i])] = std::move(undo.fragments[i]);
    }
    m.intermediates.resize(undo.intermediate_count);
    for (auto& [which, states] : undo.intermediates) {
        m.intermediates[which].second = std::move(states);
    }
    for (std::size_t i = undo.aliases.size(); i-- > 0;) {
        x.out[undo.aliases[i].first].alias = undo.aliases[i].second;
    }
    x.out.p.tiles.resize(undo.tiles);
    x.creator.resize(undo.tiles);
    x.places.contribution_keys.resize(undo.tiles, -1);
    x.out.p.moved_bytes = undo.moved_bytes;
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
