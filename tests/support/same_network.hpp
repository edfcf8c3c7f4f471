// SPDX-License-Identifier: Apache-2.0
// Whether two networks are one: what they compute, in which order, by which names and from which values.
#pragma once

#include "tessera/net/paths.hpp"

#include <string>

namespace test_support {

/// What is first found to be different, or "".
inline std::string difference_of(const tessera::graph_view& a, const tessera::graph_view& b) {
    if (a.tensor_count != b.tensor_count || a.parameter_count != b.parameter_count || a.op_count != b.op_count) {
        return "numbers of nodes";
    }
    for (int t = 0; t < a.tensor_count; ++t) {
        const tessera::tensor_node& x = a.tensors[t];
        const tessera::tensor_node& y = b.tensors[t];
        if (!(x.extents == y.extents) || x.type != y.type || x.producer != y.producer || x.any_length != y.any_length ||
            (x.producer < 0 && x.name != y.name)) {
            return "tensor " + std::to_string(t);
        }
    }
    const tessera::network_paths p = tessera::paths_of(a);
    const tessera::network_paths q = tessera::paths_of(b);
    for (int i = 0; i < a.parameter_count; ++i) {
        const tessera::parameter_node& x = a.parameters[i];
        const tessera::parameter_node& y = b.parameters[i];
        if (!(x.extents == y.extents) || x.slot != y.slot || !(x.initial == y.initial) || x.state != y.state ||
            x.fan_in != y.fan_in || x.trained != y.trained || p.parameter(i) != q.parameter(i)) {
            return "parameter " + p.parameter(i);
        }
    }
    const auto same = [](const auto& one, const auto& other) {
        bool all = one.size() == other.size();
        for (int k = 0; all && k < one.size(); ++k) {
            all = one[k] == other[k];
        }
        return all;
    };
    for (int i = 0; i < a.op_count; ++i) {
        const tessera::op_node& x = a.ops[i];
        const tessera::op_node& y = b.ops[i];
        if (!(x.attributes == y.attributes) || !same(x.inputs, y.inputs) || !same(x.parameters, y.parameters) ||
            x.output != y.output || p.op(i) != q.op(i)) {
            return "operator " + p.op(i);
        }
    }
    return "";
}

} // namespace test_support
