// SPDX-License-Identifier: Apache-2.0
// Bodies of decoding.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/decoding.hpp"

#include "tessera/base/error.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/net/paths.hpp"

#include <string>

namespace tessera {

TESSERA_INLINE decoding_network decoding_of(const graph_view& g, int tensor, index_t samples, index_t positions,
                                            index_t room) {
    decoding_network n;
    graph& to = n.network;
    to.parameters.assign(g.parameters, g.parameters + g.parameter_count);
    for (parameter_node& p : to.parameters) {
        p.trained = false;
    }
    n.kept_from = g.parameter_count;
    const auto add_tensor = [&](const shape& extents, element type, int producer, std::string_view name) {
        tensor_node t;
        t.extents = extents;
        t.type = type;
        t.producer = producer;
        t.name = name;
        to.tensors.push_back(t);
        return static_cast<int>(to.tensors.size()) - 1;
    };
    const auto add_op = [&](op_node o, int from) {
        shape inputs[max_inputs];
        for (int k = 0; k < o.inputs.size(); ++k) {
            inputs[k] = to.tensors[to_size(o.inputs[k])].extents;
        }
        inferred made = infer(o.attributes, inputs, o.inputs.size());
        if (made.refused) {
            throw error(to_text(made.refused, path_of(g, from)) + ", for " + std::to_string(positions) +
                        " positions at a time");
        }
        o.number = from;
        const element type = o.attributes.math == precision::bf16 ? g.output_of(from).type : element::f32;
        o.output = add_tensor(made.output, type, static_cast<int>(to.ops.size()), {});
        to.ops.push_back(o);
        n.ops.push_back(from);
        return o.output;
    };
    std::vector<int> needed(to_size(g.tensor_count));
    std::vector<int> position(to_size(g.tensor_count));
    detail::position_walk walk(g, tensor, needed.data(), position.data());
    std::vector<int> now(to_size(g.tensor_count), -1);
    if (const int tokens = walk.tokens(); tokens >= 0) {
        n.tokens = now[to_size(tokens)] = add_tensor(make_shape(samples, positions), element::i32, -1, "tokens");
        n.first = add_tensor(make_shape(samples), element::i32, -1, "first");
    }
    const problem p = walk.over(room, [&](int op, const piecewise_use& how, bool is_placed) {
        op_node o = g.ops[op];
        for (int& t : o.inputs) {
            t = now[to_size(t)];
        }
        if (is_placed) {
            int more = n.first;
            if (how.looks_up) {
                if (n.places < 0) {
                    n.places = add_tensor(make_shape(samples, positions), element::i32, -1, "places");
                }
                op_node table = o;
                table.attributes = how.look_up;
                table.inputs = {};
                table.inputs.push_back(n.places);
                more = add_op(table, op);
                o.parameters = {};
            }
            o.attributes = how.attributes;
            o.inputs.push_back(more);
            for (shape kept : how.kept) {
                kept.extent[0] = samples;
                parameter_node cache;
                cache.extents = kept;
                cache.layer = o.name;
                cache.slot = o.parameters.size();
                cache.initial.how = initial_values::zeros;
                cache.trained = false;
                cache.instance = o.instance;
                o.parameters.push_back(static_cast<int>(to.parameters.size()));
                to.parameters.push_back(cache);
            }
        }
        now[to_size(g.ops[op].output)] = add_op(o, op);
    });
    if (p) {
        throw error(to_text(p, p.op < 0 ? std::string() : path_of(g, p.op)));
    }
    n.output = now[to_size(tensor)];
    return n;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
