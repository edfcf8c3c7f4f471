// SPDX-License-Identifier: Apache-2.0
// Bodies of parameter_groups.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/parameter_groups.hpp"

namespace tessera {

TESSERA_INLINE bool is_in(const parameter_group& x, const graph_view& g, int parameter, const network_paths* paths) {
    if (x.layer == 0 && x.path.empty()) {
        return g.parameters[parameter].extents.rank < 2;
    }
    if (x.layer == 0) {
        const std::string_view path(x.path.begin(), to_size(x.path.size()));
        const std::string& own = paths->parameter(parameter);
        return own == path || (own.starts_with(path) && own[path.size()] == '/');
    }
    for (int op = 0; op < g.op_count; ++op) {
        if (g.ops[op].key == x.layer && (x.instance < 0 || g.ops[op].instance == x.instance)) {
            for (const int p : g.ops[op].parameters) {
                if (p == parameter) {
                    return true;
                }
            }
        }
    }
    return false;
}

TESSERA_INLINE bool has_paths(const optimizer& update) {
    bool any = false;
    for (const parameter_group& x : update.groups) {
        any = any || !x.path.empty();
    }
    return any;
}

TESSERA_INLINE update_rule rule_for(const optimizer& update, const graph_view& g, int parameter) {
    update_rule r = update;
    if (update.groups.empty()) {
        return r;
    }
    network_paths paths;
    if (has_paths(update)) {
        paths = paths_of(g);
    }
    for (const parameter_group& x : update.groups) {
        if (is_in(x, g, parameter, &paths)) {
            r.rate_factor *= x.rate;
            r.weight_decay *= x.decay;
            r.trust = x.trust_ratio ? r.trust : trust_by::none;
        }
    }
    return r;
}

TESSERA_INLINE void require(const optimizer& update, const graph_view& g) {
    require(update);
    network_paths paths;
    if (has_paths(update)) {
        paths = paths_of(g);
    }
    for (int i = 0; i < update.groups.size(); ++i) {
        bool any = false;
        for (int p = 0; p < g.parameter_count && !any; ++p) {
            any = g.parameters[p].trained && is_in(update.groups[i], g, p, &paths);
        }
        if (!any) {
            const parameter_group& x = update.groups[i];
            const std::string path(x.path.begin(), x.path.end());
            throw error("tessera: no trained parameter of the network is in group " + std::to_string(i) +
                        " of the optimizer, counted from 0" + (path.empty() ? "" : ", of the path '" + path + "'") +
                        "; name a layer of the network that has parameters");
        }
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
