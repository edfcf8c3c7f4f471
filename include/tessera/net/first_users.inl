// SPDX-License-Identifier: Apache-2.0
// Bodies of first_users.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/first_users.hpp"

namespace tessera {

TESSERA_INLINE std::vector<int> first_users_of(const graph_view& g) {
    std::vector<int> first(to_size(g.parameter_count), -1);
    for (int op = g.op_count - 1; op >= 0; --op) {
        for (const int p : g.ops[op].parameters) {
            first[to_size(p)] = op;
        }
    }
    return first;
}

TESSERA_INLINE int source_of_parameters(const graph_view& g, const std::vector<int>& first_users, int op) {
    const auto& own = g.ops[op].parameters;
    int source = -1;
    for (int slot = 0; slot < own.size() && source < 0; ++slot) {
        const int first = first_users[to_size(own[slot])];
        source = first != op ? first : source;
    }
    for (int slot = 0; source >= 0 && slot < own.size(); ++slot) {
        const auto& theirs = g.ops[source].parameters;
        const bool shared = first_users[to_size(own[slot])] != op;
        if (shared != (slot < theirs.size()) || (shared && theirs[slot] != own[slot])) {
            return -2;
        }
    }
    return source;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
