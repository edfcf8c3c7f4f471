// SPDX-License-Identifier: Apache-2.0
// All that a training is made of, and changes of one field of it that are drawn at random: whatever compares trainings
// must name that field. Fields are those of the lists (each_field), of which the bindings here say that they are
// complete.
#pragma once

#include "support/networks.hpp"
#include "support/random_strategy.hpp"
#include "support/strategy_fields.hpp"

#include "tessera/execute/ranks/training_identity.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <string>
#include <vector>

namespace test_support {

struct training {
    ts::graph network;
    ts::strategy how;
    ts::optimizer update;
    ts::session_options options;

    ts::field_lines lines() const {
        ts::training_identity t;
        t.backend = "test";
        t.network = network.view();
        t.how = &how;
        t.update = &update;
        t.options = &options;
        return ts::lines_of(t);
    }
};

/// A network with convolutions, batch norms, dropout and branches, over two devices.
inline training some_training() {
    training t;
    t.network = ts::describe<test_networks::residual_net::network>(8);
    t.how = with_everything(ts::search::data_parallel(t.network.view(), 2), t.network.view().parameter_count);
    t.update = ts::optimizer(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F, .nesterov = true}, 1.0F, 2.0F);
    t.update.groups.push_back({.rate = 0.5F});
    t.update.groups.push_back({.decay = 0});
    return t;
}

/// How many fields each struct has that the lists are of.
inline std::map<std::string, std::size_t> counts_of_training() {
    const auto count = [](const auto&... fields) { return sizeof...(fields); };
    std::map<std::string, std::size_t> n;
    {
        const ts::update_rule s;
        const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, t] = s;
        n["update_rule"] = count(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, t);
    }
    {
        const ts::parameter_group s;
        const auto& [a, b, c, d, e, f] = s;
        n["parameter_group"] = count(a, b, c, d, e, f);
    }
    {
        const ts::session_options s;
        const auto& [a, b, c, d, e, f, g, h] = s;
        n["session_options"] = count(a, b, c, d, e, f, g, h);
    }
    {
        const ts::op_attributes s;
        const auto& [a, b, c, d, e, f] = s;
        n["op_attributes"] = count(a, b, c, d, e, f);
    }
    {
        const ts::op_node s;
        const auto& [a, b, c, d, e, f, g, h, i] = s;
        n["op_node"] = count(a, b, c, d, e, f, g, h, i);
    }
    {
        const ts::parameter_node s;
        const auto& [a, b, c, d, e, f, g, h] = s;
        n["parameter_node"] = count(a, b, c, d, e, f, g, h);
    }
    {
        const ts::tensor_node s;
        const auto& [a, b, c, d, e] = s;
        n["tensor_node"] = count(a, b, c, d, e);
    }
    return n;
}

namespace detail {

template <class T>
void change_word(T& x, random& pick) {
    if constexpr (std::is_same_v<T, bool>) {
        x = !x;
    } else if constexpr (std::is_floating_point_v<T>) { // by a little, or by much
        x = pick(2) == 0 ? x + static_cast<T>(1) : x + (x > 0 || x < 0 ? x : static_cast<T>(1)) * static_cast<T>(1e-6);
    } else if constexpr (std::is_enum_v<T>) {
        x = static_cast<T>(static_cast<int>(x) == 0 ? 1 : 0);
    } else if constexpr (std::is_integral_v<T>) {
        x = static_cast<T>(x + static_cast<T>(1 + pick(3)));
    } else if constexpr (requires { x += "x"; }) {
        x += "x";
    } else if constexpr (requires { x.push_back('x'); }) {
        x.push_back('x');
    } else {
        x.latency += 1; // of links
    }
}

/// Changes one field of a described value; returns its name, or "" where it may differ.
template <class T>
std::string change_field(T& x, const std::string& name, random& pick) {
    int fields = 0;
    T::each_field([&](const char*, auto, const ts::field_facts&) { ++fields; });
    const int chosen = pick(fields);
    int at = 0;
    std::string said;
    T::each_field([&](const char* field, auto member, const ts::field_facts& f) {
        if (at++ != chosen) {
            return;
        }
        said = f.permits ? "" : name + "." + field;
        using value = std::remove_cvref_t<decltype(x.*member)>;
        if constexpr (std::is_same_v<value, decltype(ts::optimizer::groups)>) {
            const int group = pick((x.*member).size());
            said = change_field((x.*member)[group], said + "[" + std::to_string(group) + "]", pick);
        } else {
            change_word(x.*member, pick);
        }
    });
    return said;
}

} // namespace detail

/// Changes one field of a training; returns how the difference must begin, or "" for what may differ.
inline std::string change_at_random(training& t, random& pick) {
    const ts::network_paths paths = ts::paths_of(t.network.view());
    const int kind = pick(6);
    if (kind == 0) {
        return detail::change_field(t.update, "optimizer", pick);
    }
    if (kind == 1) {
        return detail::change_field(t.options, "options", pick);
    }
    if (kind == 2) {
        const std::vector<changed_field>& all = changed_fields();
        all[ts::to_size(pick(static_cast<int>(all.size())))].apply(t.how);
        return "strategy.";
    }
    if (kind == 3) {
        const int p = pick(t.network.view().parameter_count);
        ts::parameter_node& n = t.network.parameters[ts::to_size(p)];
        const std::string name = "network." + paths.parameter(p);
        switch (pick(5)) {
        case 0:
            n.extents.extent[0] += 1;
            return name + ".extents";
        case 1:
            n.trained = !n.trained;
            return name + ".trained";
        case 2:
            n.state = !n.state;
            return name + ".state";
        case 3:
            n.fan_in += 1;
            return name + ".initial";
        default:
            n.initial.number *= 1.5F;
            return name + ".initial";
        }
    }
    const int op = pick(t.network.view().op_count);
    ts::op_node& o = t.network.ops[ts::to_size(op)];
    const std::string name = "network." + paths.op(op);
    if (kind == 4) { // an attribute of its own
        const ts::attribute_list* const list = ts::record_of(o.attributes).own;
        if (list == nullptr || list->count == 0) {
            o.attributes.own[3] ^= 1;
            return name + ".own[3]";
        }
        const int chosen = pick(list->count);
        int at = 0;
        for (int f = 0; f < chosen; ++f) {
            at += list->fields[f].count;
        }
        o.attributes.own[at + pick(list->fields[chosen].count)] ^= 1; // of a double the last bit
        return name + "." + list->fields[chosen].name;
    }
    switch (pick(7)) {
    case 0:
        o.attributes.frozen = !o.attributes.frozen;
        return name + ".frozen";
    case 1:
        o.attributes.math = ts::precision::tf32;
        return name + ".math";
    case 2:
        o.attributes.weight += 1e-9;
        return name + ".weight";
    case 3:
        o.attributes.kind = o.attributes.kind == ts::op_kind::tanh ? ts::op_kind::sigmoid : ts::op_kind::tanh;
        return name + ".operator";
    case 4:
        o.inputs[0] = o.inputs[0] == 0 ? 1 : 0;
        return name + ".inputs";
    case 5:
        o.number = 1000;
        return name + ".random_number";
    default:
        t.network.tensors[0].extents.extent[0] += 1;
        return "network.samples";
    }
}

} // namespace test_support
