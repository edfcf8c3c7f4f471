// SPDX-License-Identifier: Apache-2.0
// Groups of parameters by layers that are types: ts::with_groups(ts::adamw{}, ts::group<conv1>{.rate = 0.1F},
// ts::group<ts::biases_and_norms>{.decay = 0}).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/describe.hpp"
#include "tessera/op/optimizer.hpp"
#include "tessera/strategy/typed_options.hpp"

#include <concepts>
#include <string_view>

namespace tessera {

/// In a group: all parameters of less than two dimensions, which are biases and what norms multiply with and add.
struct biases_and_norms;

/// The parameters of some layers, or of instance<layer, n> where a layer is repeated: their learning rate and their
/// weight decay are multiplied by these factors, and their steps are scaled by LARS' or LAMB's trust ratio, or not.
/// Layers that share a parameter share it in a group too.
template <class... Layers>
struct group {
    float rate = 1;
    float decay = 1;
    bool trust_ratio = true;
};
/// The same of layers that are known by their paths, such as "fc1", "encoder.norm" or "fc1/bias".
struct group_at {
    std::string_view path;
    float rate = 1;
    float decay = 1;
    bool trust_ratio = true;
};

namespace detail {

template <class L>
struct grouped_layer {
    static constexpr type_key key = key_of<L>;
    static constexpr int which = -1;
};
template <class L, int Instance>
struct grouped_layer<instance<L, Instance>> {
    static constexpr type_key key = key_of<L>;
    static constexpr int which = Instance;
};
template <>
struct grouped_layer<biases_and_norms> {
    static constexpr type_key key = 0;
    static constexpr int which = -1;
};

/// What cannot be in a constant expression; its name is the compile error.
inline void an_optimizer_has_at_most_8_groups() {}
inline void a_path_of_a_group_has_1_to_64_characters() {}

constexpr void add_group(optimizer& to, const parameter_group& x) {
    if (!to.groups.push_back(x)) {
        an_optimizer_has_at_most_8_groups();
        throw error("tessera: an optimizer has at most " + std::to_string(most_parameter_groups) +
                    " groups of layers; put layers of the same factors into one path");
    }
}
template <class... Layers>
constexpr void add_groups(optimizer& to, const group<Layers...>& x) {
    (add_group(to, {grouped_layer<Layers>::key, grouped_layer<Layers>::which, {}, x.rate, x.decay, x.trust_ratio}),
     ...);
}
constexpr void add_groups(optimizer& to, const group_at& x) {
    parameter_group made{0, -1, {}, x.rate, x.decay, x.trust_ratio};
    bool fits = !x.path.empty();
    for (const char c : x.path) {
        fits = made.path.push_back(c) && fits;
    }
    if (!fits) {
        a_path_of_a_group_has_1_to_64_characters();
        throw error("tessera: the path '" + std::string(x.path) + "' of a group has " + std::to_string(x.path.size()) +
                    " characters; it must have 1 to 64");
    }
    add_group(to, made);
}

template <class L>
constexpr bool has_trained(const graph_view& g) {
    bool any = grouped_layer<L>::key == 0;
    for (int op = 0; op < g.op_count; ++op) {
        const bool here = g.ops[op].key == grouped_layer<L>::key &&
                          (grouped_layer<L>::which < 0 || g.ops[op].instance == grouped_layer<L>::which);
        for (const int p : g.ops[op].parameters) {
            any = any || (here && g.parameters[p].trained);
        }
    }
    return any;
}

template <class Net, class L>
constexpr bool check_group_layer() {
    if constexpr (!has_trained<L>(storage_of<Net, 64>.view())) {
        return tessera::refuse<rule::group_of_unknown_layer, tessera::layer<L>>();
    }
    return true;
}
template <class Net, class... Layers>
constexpr bool check_group(const group<Layers...>*) {
    return (... && check_group_layer<Net, Layers>());
}
template <class Net>
constexpr bool check_group(const group_at*) {
    return true;
}

} // namespace detail

/// An optimizer that knows the types of its groups, so that a trainer can check them while it is compiled.
template <class... Groups>
struct grouped_optimizer : optimizer {
    template <class Net>
    static constexpr bool check() {
        return (... && detail::check_group<Net>(static_cast<const Groups*>(nullptr)));
    }
};

/// An optimizer with groups of parameters. A parameter in several groups has the factors of all. Throws tessera::error
/// for more than most_parameter_groups layers and paths.
template <class... Groups>
constexpr grouped_optimizer<Groups...> with_groups(const optimizer& update, const Groups&... groups) {
    grouped_optimizer<Groups...> made{update};
    (detail::add_groups(made, groups), ...);
    return made;
}

/// An optimizer for a network that is a type: a group of a layer that the network does not have does not compile.
template <class Net>
struct optimizer_for {
    optimizer value;

    template <std::convertible_to<optimizer> How>
    constexpr optimizer_for(const How& how) : value(how) {
        if constexpr (requires { How::template check<Net>(); }) {
            static_assert(How::template check<Net>() || true); // the refusal is the error
        }
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
