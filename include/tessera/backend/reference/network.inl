// SPDX-License-Identifier: Apache-2.0
// Bodies of network.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/network.hpp"

namespace tessera::reference {

TESSERA_INLINE network::network(const graph_view& g) : graph_(g) {
    const auto size = [](const shape& s) { return to_size(s.volume()); };
    for (int t = 0; t < g.tensor_count; ++t) {
        const bool integers = g.tensors[t].type == element::i32;
        values.emplace_back(integers ? 0 : size(g.tensors[t].extents));
        labels.emplace_back(integers ? size(g.tensors[t].extents) : 0);
    }
    for (int p = 0; p < g.parameter_count; ++p) {
        parameters.emplace_back(size(g.parameters[p].extents));
        gradients.emplace_back();
    }
    for (int i = 0; i < g.op_count; ++i) {
        descriptions_.push_back(g.describe(i));
        const description& d = descriptions_.back();
        intermediates_.emplace_back(to_size(d.operands.size()));
        intermediate_gradients_.emplace_back(to_size(d.operands.size()));
        for (int o = 0; o < d.operands.size(); ++o) {
            if (d.operands[o].kind == operand_kind::intermediate) {
                intermediates_.back()[to_size(o)].resize(size(d.operands[o].extents));
                intermediate_gradients_.back()[to_size(o)].resize(size(d.operands[o].extents));
            }
        }
    }
    initialize(0);
}

TESSERA_INLINE void network::initialize(std::uint64_t seed) {
    const network_paths paths = paths_of(graph_);
    for (int p = 0; p < graph_.parameter_count; ++p) {
        std::vector<double>& to = parameters[to_size(p)];
        std::vector<float> start(to.size());
        tessera::initialize(graph_.parameters[p], paths.parameter(p), seed, start);
        to.assign(start.begin(), start.end());
    }
    states_.assign(parameters.size(), {});
}

TESSERA_INLINE void network::continue_from(const network& other) {
    parameters = other.parameters;
    states_ = other.states_;
}

TESSERA_INLINE void network::check_input(int tensor, std::size_t count, bool integers) const {
    const bool exists = tensor >= 0 && tensor < graph_.tensor_count && graph_.tensors[tensor].producer < 0;
    if (!exists || (graph_.tensors[tensor].type == element::i32) != integers) {
        throw error("tessera: tensor " + std::to_string(tensor) + " is not an input of " +
                    (integers ? "labels" : "numbers"));
    }
    const index_t needed = graph_.tensors[tensor].extents.volume();
    if (count != to_size(needed)) {
        throw error("tessera: input " + std::string(graph_.tensors[tensor].name) + " got " + std::to_string(count) +
                    " elements and needs " + std::to_string(needed));
    }
}

/// What is stored as bf16 is rounded to it.
TESSERA_INLINE void network::round_stored(int tensor, std::vector<double>& numbers) const {
    if (graph_.tensors[tensor].type == element::bf16) {
        for (double& x : numbers) {
            x = round_to_bf16(x);
        }
    }
}

TESSERA_INLINE void network::round_parameters() {
    rounded_.clear();
    for (int i = 0; i < graph_.op_count; ++i) {
        if (rounds_parameters(graph_.ops[i].attributes)) {
            rounded_.resize(parameters.size());
            for (int p : graph_.ops[i].parameters) {
                std::vector<double>& to = rounded_[to_size(p)];
                to = parameters[to_size(p)];
                for (double& x : to) {
                    x = round_to_bf16(x);
                }
            }
        }
    }
}

TESSERA_INLINE void network::set(int tensor, std::span<const std::int32_t> from) {
    check_input(tensor, from.size(), true);
    for (int i = 0; i < graph_.op_count; ++i) {
        for (int k = 0; k < graph_.ops[i].inputs.size(); ++k) {
            const index_t count = graph_.ops[i].inputs[k] == tensor ? graph_.integers_of(i, k) : 0;
            const auto& ignored = record_of(graph_.ops[i].attributes).ignored;
            const bool ignores = ignored != nullptr && k == 1;
            for (const std::int32_t x : from) {
                if (count > 0 && (x < 0 || x >= count) && !(ignores && x == ignored(graph_.ops[i].attributes))) {
                    throw error("tessera: " + std::string(graph_.is_loss(i) ? "label " : "token ") + std::to_string(x) +
                                " is not one of the " + std::to_string(count) +
                                (graph_.is_loss(i) ? " classes of " : " rows of ") + path_of(graph_, i));
                }
            }
        }
    }
    labels[to_size(tensor)].assign(from.begin(), from.end());
}

/// The whole operator as one shard.
TESSERA_INLINE compute_call network::make_call(int op, pass what, const run_state& run) {
    const op_node& node = graph_.ops[op];
    const description& d = descriptions_[to_size(op)];
    compute_call call;
    call.d = &d;
    call.attributes = node.attributes;
    call.op = graph_.number_of(op);
    call.what = what;
    call.last_nest = d.nests.size() - 1;
    call.run = &run;
    for (int l = 0; l < d.loops.size(); ++l) {
        call.ranges[l] = {0, d.loops[l].extent};
    }
    if (micro_batch_ >= 0) {
        interval& samples = call.ranges[d.find_loop(loop_name::sample)];
        samples = even_part(samples.size(), micro_batches, micro_batch_);
        call.samples = samples.size();
    }
    for (int o = 0; o < d.operands.size(); ++o) {
        const operand& x = d.operands[o];
        const auto at = to_size(o);
        tile_view value{nullptr, whole(x.extents)};
        if (x.kind == operand_kind::parameter || x.kind == operand_kind::state) {
            const auto p = to_size(node.parameters[x.slot]);
            value.data = rounds_parameters(node.attributes) ? rounded_[p].data() : parameters[p].data();
        } else if (x.kind == operand_kind::intermediate) {
            value.data = intermediates_[to_size(op)][at].data();
            call.gradient[o] = {intermediate_gradients_[to_size(op)][at].data(), value.region};
        } else {
            const auto t = to_size(x.kind == operand_kind::output ? node.output : node.inputs[x.slot]);
            value.data = x.type == element::i32 ? static_cast<void*>(labels[t].data()) : values[t].data();
        }
        call.value[o] = value;
    }
    return call;
}

TESSERA_INLINE void network::forward(pass what, const run_state& run) {
    round_parameters();
    for (int i = 0; i < graph_.op_count; ++i) {
        const std::vector<replica> groups = what == pass::evaluate ? std::vector<replica>{} : groups_of(i);
        compute_call call = make_call(i, what, run);
        for (std::size_t k = 0; k < groups.size(); ++k) {
            restrict_to(call, groups[k].samples, k);
            compute<double>(call);
        }
        if (groups.empty()) {
            compute<double>(call);
        }
        round_stored(graph_.ops[i].output, values[to_size(graph_.ops[i].output)]);
    }
}

TESSERA_INLINE double network::loss() const {
    double total = 0;
    for (int i = 0; i < graph_.op_count; ++i) {
        if (graph_.is_loss(i)) {
            const std::vector<double>& rows = values[to_size(graph_.ops[i].output)];
            double sum = 0;
            for (const double row : rows) {
                sum += row;
            }
            const op_attributes& a = graph_.ops[i].attributes;
            total += a.weight * sum / loss_divisor(a, graph_.output_of(i).extents);
        }
    }
    return total;
}

TESSERA_INLINE void network::add_gradients(int op, const run_state& run) {
    const op_node& node = graph_.ops[op];
    const description& d = descriptions_[to_size(op)];
    std::vector<double>& dy = tensor_gradients_[to_size(node.output)];
    if (dy.empty() && !graph_.is_loss(op)) {
        return; // no loss depends on it
    }
    compute_call call = make_call(op, pass::backward, run);
    call.gradient[d.output()] = {dy.data(), whole(d.operands[d.output()].extents)};
    call.loss_scale = node.attributes.weight / loss_divisor(node.attributes, graph_.output_of(op).extents);
    const std::vector<replica> groups = groups_of(op);
    for (std::size_t k = 0; k < groups.size(); ++k) {
        restrict_to(call, groups[k].samples, k);
        add_gradients(op, call);
    }
    if (groups.empty()) {
        add_gradients(op, call);
    }
}

TESSERA_INLINE void network::add_gradients(int op, compute_call call) {
    const op_node& node = graph_.ops[op];
    const description& d = descriptions_[to_size(op)];
    std::vector<std::vector<double>> contributions(to_size(d.operands.size()));
    for (int o = 0; o < d.operands.size(); ++o) {
        const operand& x = d.operands[o];
        const bool needed = x.kind != operand_kind::input || graph_.tensors[node.inputs[x.slot]].producer >= 0;
        if (gradient_nest(d, o) < 0 || !needed) {
            continue;
        }
        call.emits |= bit(o);
        if (x.kind != operand_kind::intermediate) {
            std::vector<double>& c = contributions[to_size(o)];
            c.resize(to_size(x.extents.volume()));
            call.gradient[o] = {c.data(), whole(x.extents)};
        }
    }
    compute<double>(call);
    for (int o = 0; o < d.operands.size(); ++o) {
        const operand& x = d.operands[o];
        const std::vector<double>& c = contributions[to_size(o)];
        if (c.empty()) {
            continue;
        }
        if (x.kind != operand_kind::input) {
            reached_[to_size(node.parameters[x.slot])] = 1;
        }
        std::vector<double>& sum = x.kind == operand_kind::input ? tensor_gradients_[to_size(node.inputs[x.slot])]
                                                                 : gradients[to_size(node.parameters[x.slot])];
        sum.resize(c.size());
        for (std::size_t i = 0; i < c.size(); ++i) {
            sum[i] += c[i];
        }
        if (x.kind == operand_kind::input) {
            round_stored(node.inputs[x.slot], sum);
        }
    }
}

TESSERA_INLINE void network::prepare_gradients() {
    tensor_gradients_.assign(values.size(), {});
    statistics_.assign(to_size(graph_.op_count), {});
    counted_.assign(to_size(graph_.op_count), 0);
    for (auto& kind : apart_) {
        kind.assign(to_size(graph_.op_count), {});
    }
    reached_.assign(parameters.size(), 0);
    for (int p = 0; p < graph_.parameter_count; ++p) {
        const bool is_state = graph_.parameters[p].state;
        gradients[to_size(p)].assign(is_state ? 0 : parameters[to_size(p)].size(), 0.0);
    }
}

TESSERA_INLINE double network::differentiate(const run_state& run) {
    prepare_gradients();
    for (int m = 0; m < micro_batches; ++m) {
        if (even_part(graph_.tensors[0].extents[0], micro_batches, m).empty()) {
            continue;
        }
        micro_batch_ = m;
        forward(pass::forward, run);
        add_statistics();
        for (int i = graph_.op_count - 1; i >= 0; --i) {
            add_gradients(i, run);
        }
    }
    micro_batch_ = -1;
    return loss();
}

TESSERA_INLINE double network::evaluate(const run_state& run) {
    forward(pass::evaluate, run);
    return loss();
}

TESSERA_INLINE double network::train_step(const run_state& run, const optimizer& how) {
    const double loss = differentiate(run);
    for (int i = 0; i < graph_.op_count; ++i) {
        const description& d = descriptions_[to_size(i)];
        if (d.has_running_state()) {
            compute_call call = make_call(i, pass::forward, run);
            call.value[d.find_operand(operand_kind::intermediate)].data = statistics_[to_size(i)].data();
            const shape& x = d.operands[d.find_operand(operand_kind::input)].extents;
            update_running<double>(call.value[d.find_operand(operand_kind::intermediate)],
                                   call.value[d.find_operand(operand_kind::state, 2)],
                                   x.volume() / x[0] / x[1] * counted_[to_size(i)],
                                   momentum_of(graph_.ops[i].attributes));
        }
    }
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        if (states_[p].empty() && how.state_count() > 0) {
            states_[p].resize(parameters[p].size() * to_size(how.own_state_count()));
            if (how.average != 0) {
                states_[p].insert(states_[p].end(), parameters[p].begin(), parameters[p].end());
            }
        }
    }
    double squares = 0;
    for (int p = 0; p < graph_.parameter_count; ++p) {
        for (const double g : gradients[to_size(p)]) {
            squares += graph_.parameters[p].trained ? g * g : 0;
        }
    }
    optimizer unscaled = how; // these gradients are
    unscaled.loss_scale = 1;
    const double factor = clip_factor(unscaled, std::sqrt(squares));
    for (int p = 0; p < graph_.parameter_count; ++p) {
        const auto at = to_size(p);
        if (graph_.parameters[p].trained && reached_[at] != 0) {
            const update_rule rule = rule_for(how, graph_, p);
            double trust = 1;
            if (rule.is_layerwise()) {
                trust = trust_of(rule, squares_of<double>(rule, run, factor, parameters[at], gradients[at], states_[at],
                                                          [](std::size_t) { return true; }));
            }
            update<double>(rule, run, factor, parameters[at], gradients[at], states_[at], trust);
        }
    }
    return loss;
}

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
