// SPDX-License-Identifier: Apache-2.0
// Groups of parameters that are updated with another rate or decay (op/optimizer.hpp): which parameters of a network
// they mean.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/net/paths.hpp"
#include "tessera/op/optimizer_rules.hpp"

#include <string>
#include <string_view>

namespace tessera {

/// True for a parameter of a group; `paths` are only looked at where the group is one of a path. A path names a layer
/// ("fc1"), with its scopes and number where it has any ("encoder.norm", "conv.1"), or one of its parameters
/// ("fc1/bias").
bool is_in(const parameter_group& x, const graph_view& g, int parameter, const network_paths* paths);

bool has_paths(const optimizer& update);

/// How a parameter is updated: as all are, with the factors of the groups that it is in.
update_rule rule_for(const optimizer& update, const graph_view& g, int parameter);

/// Throws tessera::error for settings that make no sense (op/optimizer_rules.hpp) and for groups in which no trained
/// parameter of the network is.
void require(const optimizer& update, const graph_view& g);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/net/parameter_groups.inl"
#endif

#include "tessera/base/end_header.inl"
