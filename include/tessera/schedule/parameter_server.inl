// SPDX-License-Identifier: Apache-2.0
// Bodies of parameter_server.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/parameter_server.hpp"

namespace tessera::schedule {

TESSERA_INLINE synchronization parameter_server(const std::vector<ready_gradient>& gradients, const server_rule& rule) {
    require(check_server_rule(rule));
    synchronization s;
    for (const ready_gradient& x : gradients) {
        const bool cut = x.elements >= rule.big;
        for (int k = 0; k < (cut ? rule.servers : 1); ++k) {
            const int server = cut ? k : static_cast<int>(index_t{x.parameter} * 9973 % rule.servers);
            s.messages.push_back({exchange::server, server, {{x.parameter, k, cut ? rule.servers : 1}}});
        }
    }
    return s;
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
