// SPDX-License-Identifier: Apache-2.0
// A parameter server on every worker, as MXNet's distributed key-value store: the baseline of Jayarajan et al., "P3"
// (arXiv 1905.03960).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/policy_record.hpp"
#include "tessera/schedule/typed_synchronization.hpp"

namespace tessera::schedule {

/// MXNet's rule: what has fewer elements than `big` goes whole to the server (number * 9973) mod n, what has more is
/// cut into n equal slices.
struct server_rule {
    int servers = 1;
    index_t big = 1'000'000; ///< MXNET_KVSTORE_BIGARRAY_BOUND
};

constexpr problem check_server_rule(const server_rule& x) {
    const problem p = check_servers(x.servers);
    return p ? p : check_slice(x.big); // a gradient that is cut has elements
}

/// Every gradient goes to its server as soon as it is ready; the server sums, updates, and sends the parameters back. A
/// worker that is one of n servers sends and receives 2(n-1)/n S in all. Throws tessera::error for fewer than one
/// server and for a `big` of less than one element.
synchronization parameter_server(const std::vector<ready_gradient>& gradients, const server_rule& rule);

inline constexpr option_row big_option{"big", "elements from which a gradient is cut into a slice for every server",
                                       1'000'000, 1, 1e15};

inline constexpr policy_record parameter_server_record{
    .name = "parameter-server",
    .title = "parameter server",
    .about = "MXNet's servers on the workers, which sum, update and send back",
    .make =
        [](const policy_setting& x) {
            return parameter_server(x.gradients, {servers_of(x), x.options.as<index_t>(big_option)});
        },
    .options = {servers_option, big_option},
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: synchronize<parameter_server<4>>.
template <int Servers, index_t Big = schedule::server_rule{}.big>
struct parameter_server {
    static constexpr problem check() { return schedule::check_server_rule({Servers, Big}); }
    static constexpr sync_modes modes() { return {true, sync_time::ready, sync_time::ready, false, 0}; }
    static synchronization make(const std::vector<schedule::ready_gradient>& gradients, const schedule::worker_speed&) {
        return schedule::parameter_server(gradients, {Servers, Big});
    }
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/parameter_server.inl"
#endif

#include "tessera/base/end_header.inl"
