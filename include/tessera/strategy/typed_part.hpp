// SPDX-License-Identifier: Apache-2.0
// How a layer, or a chain of layers, is split that runs by itself: its options as a strategy, and, where extents<> say
// what it reads, the rules that they break as compile errors.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/rules.hpp" // first, so that compilers name few headers before the words of a refusal

#include "tessera/net/alone.hpp"
#include "tessera/strategy/typed_fit.hpp"
#include "tessera/strategy/typed_strategy.hpp"

#include <climits>

namespace tessera {

namespace detail {

template <class... Shapes>
struct shape_list {
    static constexpr int count = static_cast<int>(sizeof...(Shapes));
};
template <class E>
struct shape_of;
template <index_t... Extents>
struct shape_of<extents<Extents...>> {
    static constexpr shape value = make_shape(Extents...);
};

/// The extents<> that lead the options, and the rest.
template <class Shapes, class... Options>
struct options_apart {
    using shapes = Shapes;
    template <template <class...> class To, class... First>
    using rest = To<First..., Options...>;
};
template <class... Shapes, index_t... Extents, class... Options>
struct options_apart<shape_list<Shapes...>, extents<Extents...>, Options...>
    : options_apart<shape_list<Shapes..., extents<Extents...>>, Options...> {};

/// What the options of a layer are as entries of a strategy; those of a part are entries already.
template <class Op, class... Options>
struct part_entries {
    static constexpr int ops = Layer<Op> ? 1 : ops_of<Op>();
    template <class Option>
    static constexpr bool fits() {
        if constexpr (Layer<Op>) {
            return !is_entry<Option>;
        } else if constexpr (is_entry<Option>) {
            return Option::what == says::layer || Option::what == says::others;
        } else {
            return false;
        }
    }
    static_assert(
        (fits<Options>() && ...),
        "tessera: a layer that runs by itself takes splits (split<sample, 2>), and a chain of layers takes what "
        "holds for each, on<conv, split<sample, 2>> and others<split<sample, 2>>");

    static constexpr int pool() {
        if constexpr (Layer<Op>) {
            return on<Op, Options...>::pool_size;
        } else {
            return ops * (0 + ... + pool_of<Options>());
        }
    }
    using storage = strategy_storage<ops, pool()>;

    static constexpr storage made(const graph_view& g) {
        storage s;
        s.count = g.op_count;
        if (g.op_count > ops) { // a part that counts its operators wrong
            s.refused = {rule::strategy_has_wrong_size, -1, -1, ops, g.op_count};
            return s;
        }
        strategy_writer<storage> w{&s, g};
        if constexpr (Layer<Op>) {
            w.template apply<on<Op, Options...>>();
        } else {
            (w.template apply<Options>(), ...);
            const auto fill = [&]<class Entry>(identity<Entry>) {
                if constexpr (is_others<Entry>) {
                    w.template apply_to_others<Entry>();
                }
            };
            (fill(identity<Options>{}), ...);
        }
        return s;
    }
};

/// The arrays of a part whose inputs the compiler knows.
template <class Op, class Shapes>
struct part_graph;
template <class Op, class... Shapes>
struct part_graph<Op, shape_list<Shapes...>> {
    static constexpr shape inputs[] = {shape_of<Shapes>::value...};
    static constexpr graph_counts count() {
        graph_builder b;
        build_alone<Op>(b, inputs, static_cast<int>(sizeof...(Shapes)));
        return {b.tensor_count, b.parameter_count, b.op_count};
    }
    static constexpr auto make() {
        constexpr graph_counts n = count();
        graph_storage<n.tensors, n.parameters, n.ops> g;
        graph_builder b;
        b.tensors.lend(g.tensors, n.tensors);
        b.parameters.lend(g.parameters, n.parameters);
        b.ops.lend(g.ops, n.ops);
        build_alone<Op>(b, inputs, static_cast<int>(sizeof...(Shapes)));
        g.refused = b.refused;
        g.misnumbered = b.misnumbered;
        return g;
    }
    static constexpr auto stored = make();
};

/// Refuses at compile time, naming the layer, the dimension and the numbers, what a part with its inputs and splits
/// breaks. How many devices there are is known only when it runs.
template <class Op, class Shapes, class... Options>
struct check_part {
    using built = part_graph<Op, Shapes>;
    static constexpr problem check() {
        if (built::stored.refused) {
            return built::stored.refused;
        }
        const graph_view g = built::stored.view();
        const auto s = part_entries<Op, Options...>::made(g);
        return s.refused ? s.refused : check_layout(g, s.view(), INT_MAX);
    }
    static constexpr problem p = check();
    static constexpr int entry() {
        return built::stored.refused ? -1 : part_entries<Op, Options...>::made(built::stored.view()).entry;
    }
    template <int Place>
    static constexpr auto name_culprit() {
        if constexpr (Layer<Op>) {
            return identity<layer<Op>>{};
        } else {
            return blamed<Op, Place, entry(), -1, Options...>();
        }
    }
    static constexpr bool test() {
        if constexpr (p.broken == rule::none) {
            return true;
        } else {
            constexpr int place = built::stored.misnumbered ? -1 : p.op;
            using culprit = typename decltype(name_culprit<place>())::type;
            if constexpr (p.dimension >= 0) {
                return tessera::refuse<p.broken, culprit, along<static_cast<loop_name>(p.dimension)>, found<p.found>,
                                       needed<p.needed>>();
            } else {
                return tessera::refuse<p.broken, culprit, found<p.found>, needed<p.needed>>();
            }
        }
    }
    static constexpr bool ok = test();
};

/// How Op is split by Options (splits, entries of a strategy, layouts), for inputs that are known when the program
/// runs.
template <class Op, class... Options>
struct part_options {
    using apart = options_apart<shape_list<>, Options...>;
    using shapes = typename apart::shapes;
    using entries = typename apart::template rest<part_entries, Op>;

    /// Options are the layouts of the inputs and of the output.
    static constexpr bool by_layouts = sizeof...(Options) > 0 && (is_layout<Options> && ...);
    static_assert(by_layouts || !(is_layout<Options> || ...), "tessera: either layouts or splits, not both");
    static constexpr bool by_extents = shapes::count > 0;

    static constexpr bool test() {
        if constexpr (by_layouts) {
            return fitted<Op, Options...>::ok;
        } else if constexpr (by_extents) {
            return apart::template rest<check_part, Op, shapes>::ok;
        } else {
            return true;
        }
    }
    static constexpr bool ok = test();

    /// The extents of the inputs, where Options have them.
    static std::vector<shape> inputs() {
        std::vector<shape> all;
        if constexpr (by_layouts && ok) {
            all = {Options::value().extents...};
            const op_record& r = record_of(Op::attributes);
            all.resize(all.size() - (r.facts.loss && r.inputs == 2 ? 2 : 1));
        } else if constexpr (by_extents) {
            for (const shape& s : part_graph<Op, shapes>::inputs) {
                all.push_back(s);
            }
        }
        return all;
    }

    /// Throws tessera::error with the words of the rule that the options break, if they do by themselves.
    static strategy of(const graph_view& g) {
        if constexpr (by_layouts) {
            using fit = fitted<Op, Options...>;
            strategy s(g);
            s.ops[0] = fit::stored.c;
            s.pool.assign(fit::stored.pool, fit::stored.pool + std::extent_v<decltype(fit::stored.pool)> - 1);
            return s;
        } else {
            const auto chosen = entries::made(g);
            if (chosen.refused) {
                const int op = chosen.refused.op;
                throw error(to_text(chosen.refused, op >= 0 ? g.ops[op].name : std::string_view(type_name<Op>())));
            }
            return strategy(chosen.view());
        }
    }
};

} // namespace detail

} // namespace tessera

#include "tessera/base/end_header.inl"
