// SPDX-License-Identifier: Apache-2.0
// Bodies of hand_designed.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/by_hand/hand_designed.hpp"

namespace tessera::search {

TESSERA_INLINE strategy central_copy(const graph_view& g, int devices) {
    strategy s = data_parallel(g, devices);
    for (int op = 0; op < g.op_count; ++op) {
        s.ops[to_size(op)] = g.is_loss(op) ? configuration{} : s.ops[to_size(op)];
    }
    s.parameters_on = 0;
    return s;
}

TESSERA_INLINE strategy mesh(const graph_view& g, int rows, int columns) {
    strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        s.ops[to_size(op)] =
            detail::split_by(g.describe(op), {{loop_name::sample, rows}, {loop_name::channel, columns}});
    }
    return s;
}

TESSERA_INLINE strategy megatron(const graph_view& g, int replicas, int split) {
    strategy s(g);
    std::vector<int> notes(to_size(g.op_count + g.tensor_count), 0);
    detail::pair_products(g, replicas, split, s.ops.data(), notes.data());
    return s;
}

TESSERA_INLINE strategy operator_placement(const graph_view& g, int replicas, int parts) {
    std::vector<int> last_user(to_size(g.parameter_count), -1);
    std::vector<int> users(to_size(g.parameter_count), 0);
    for (int op = 0; op < g.op_count; ++op) {
        for (int p : g.ops[op].parameters) {
            last_user[to_size(p)] = op;
            ++users[to_size(p)];
        }
    }
    std::vector<index_t> arithmetic; // of what stays together
    std::vector<int> group;
    int until = -1;
    for (int op = 0; op < g.op_count; ++op) {
        if (op == 0 || (op > until && !g.ops[op].parameters.empty())) {
            arithmetic.push_back(0);
        }
        for (int p : g.ops[op].parameters) {
            const auto i = to_size(p);
            until = users[i] > 2 ? std::max(until, last_user[i]) : until;
        }
        arithmetic.back() += flops_of(g.describe(op));
        group.push_back(static_cast<int>(arithmetic.size()) - 1);
    }
    const std::vector<int> part =
        schedule::balance_stages(arithmetic, std::min(parts, static_cast<int>(arithmetic.size())));
    strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        configuration& c = s.ops[to_size(op)];
        c = detail::split_by(g.describe(op), {{loop_name::sample, replicas}});
        c.start = part[to_size(group[to_size(op)])];
        c.stride = parts;
    }
    return s;
}

TESSERA_INLINE node_grid node_grid_of(const cluster& on) {
    const int devices = on.devices();
    int per_node = 0;
    for (int d = 0; d < devices; ++d) {
        per_node += on.node_of(d) == on.node_of(0) ? 1 : 0;
    }
    per_node = devices % per_node == 0 ? per_node : 1;
    return {devices / per_node, per_node};
}

TESSERA_INLINE int detail::group_size(const graph_view& g, const cluster& on, const search_options& o,
                                      sequence_sharing how) {
    const auto given = o.values.as<int>(sequence_devices_option);
    const int share = given > 0 ? given : most_that_share(g, node_grid_of(on).per_node, how);
    if (on.devices() % share != 0) {
        throw error("tessera: " + std::to_string(share) +
                    " devices that share a sequence do not divide the machine's " + std::to_string(on.devices()) +
                    "; let as many share it as do");
    }
    return share;
}

TESSERA_INLINE std::vector<named_strategy> hand_designed(const graph_view& g, const cluster& on) {
    std::vector<named_strategy> all;
    for (const search_record* r : designed_strategies) {
        if (r->is_start && applies(*r, g, on)) {
            all.push_back({std::string(r->title), r->run(g, on, {}).best});
        }
    }
    return all;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
