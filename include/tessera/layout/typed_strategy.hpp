// SPDX-License-Identifier: Apache-2.0
// Strategies as types, checked by the compiler: strategy_of<Net, Devices, Batch, on<conv1, split<sample, 2>>, ...>.
#pragma once

#include "tessera/layout/strategy.hpp"

namespace tessera {

// The names that loops are split by.
inline constexpr loop_name sample = loop_name::sample;
inline constexpr loop_name channel = loop_name::channel;
inline constexpr loop_name height = loop_name::height;
inline constexpr loop_name width = loop_name::width;
inline constexpr loop_name reduction = loop_name::reduction;

namespace detail {

/// What the options of one on<> amount to, while they are read.
struct option_state {
    configuration c;
    index_t* pool = nullptr;
    index_t pool_size = 0;
    const description* d = nullptr;
    problem refused;
    index_t gradient_of = -1;
    index_t placed = -1; ///< devices listed
    bool gathered = false;

    constexpr void fail(rule what, int dimension, index_t found_number, index_t needed_number) {
        if (!refused) {
            refused = {what, -1, dimension, found_number, needed_number};
        }
    }
    constexpr int find(loop_name name) {
        const int l = d->find_loop(name);
        if (l < 0) {
            fail(rule::no_such_loop, static_cast<int>(name), 0, 1);
        } else if (c.degree[l] != 1) {
            fail(rule::loop_split_twice, static_cast<int>(name), 2, 1);
        }
        return refused ? -1 : l;
    }
};

} // namespace detail

/// Divides a loop in Degree even shards.
template <loop_name Name, int Degree>
struct split {
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::option_state& s) {
        const int l = s.find(Name);
        if (l >= 0) {
            s.c.degree[l] = Degree;
        }
    }
};
/// Divides a loop at the indices given.
template <loop_name Name, index_t... At>
struct cut {
    static constexpr int pool_size = sizeof...(At);
    static constexpr void apply(detail::option_state& s) {
        const int l = s.find(Name);
        if (l >= 0) {
            s.c.degree[l] = static_cast<int>(sizeof...(At)) + 1;
            s.c.cuts[l] = static_cast<int>(s.pool_size);
            ((s.pool[s.pool_size++] = At), ...);
        }
    }
};
/// Degrees need not divide their extents.
struct uneven {
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::option_state& s) { s.c.uneven = true; }
};
/// Splits of coupled loops (batch norm's samples, a cross-entropy's classes) are meant, with the all-reduce of statistics.
struct with_reduction {
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::option_state& s) { s.c.reduces = true; }
};
/// Every shard is computed Count times.
template <int Count>
struct replicate {
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::option_state& s) { s.c.replicate = Count; }
};
/// Passes a partial tensor of Parts parts on without adding them up; for linear layers.
template <int Parts>
struct partial {
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::option_state& s) { s.c.partial = Parts; }
};
/// The device of every shard, in order.
template <int... Devices>
struct place {
    static constexpr int pool_size = sizeof...(Devices);
    static constexpr void apply(detail::option_state& s) {
        s.c.devices = static_cast<int>(s.pool_size);
        s.placed = static_cast<index_t>(sizeof...(Devices));
        ((s.pool[s.pool_size++] = Devices), ...);
    }
};
/// Shard i runs on device Start + Stride * i.
template <int Start, int Stride = 1>
struct from_device {
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::option_state& s) {
        s.c.start = Start;
        s.c.stride = Stride;
    }
};
/// States that the gradient of the layer's parameters is the sum over Count shards; refused where it is not, for instance because
/// replicas were counted.
template <int Count>
struct gradient_of {
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::option_state& s) { s.gradient_of = Count; }
};
/// Every shard receives its whole input. Refused where the layer splits the input along a coupled loop, whose point is that it need not.
struct gathered {
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::option_state& s) { s.gathered = true; }
};

/// One instance of a layer that a network has several times, counted from 0.
template <class L, int Instance>
struct instance;

/// The configuration of a layer: of all its instances, or of one.
template <class L, class... Options>
struct on {
    using layer_type = L;
    static constexpr type_key key = key_of<L>;
    static constexpr int which = -1;
    static constexpr bool all = true;
    static constexpr int pool_size = (0 + ... + Options::pool_size);
    static constexpr void apply(detail::option_state& s) { (Options::apply(s), ...); }
};
template <class L, int Instance, class... Options>
struct on<instance<L, Instance>, Options...> {
    using layer_type = L;
    static constexpr type_key key = key_of<L>;
    static constexpr int which = Instance;
    static constexpr bool all = false;
    static constexpr int pool_size = (0 + ... + Options::pool_size);
    static constexpr void apply(detail::option_state& s) { (Options::apply(s), ...); }
};

namespace detail {

/// A strategy as a constant; `refused.op` is the operator, `entry` the on<> that is to blame.
template <int Ops, int Pool>
struct strategy_storage {
    configuration ops[static_cast<std::size_t>(Ops + 1)]{};
    index_t pool[static_cast<std::size_t>(Pool + 1)]{};
    static constexpr int capacity = Ops + 1;
    int count = 0;
    index_t pool_size = 0;
    problem refused;
    int entry = -1;

    constexpr strategy_view view() const { return {ops, count, pool, pool_size}; }
};

/// How many different contributions the gradient of an operator's parameters has: shards that differ in more than the replica.
constexpr index_t contributions(const configuration& c, const description& d) {
    const int w = d.find_operand(operand_kind::parameter, 0);
    index_t n = 1;
    if (w >= 0) {
        const std::uint32_t reduced = gradient_reduced_loops(d, w);
        for (int l = 0; l < d.loops.size(); ++l) {
            n *= has(reduced, l) ? c.degree[l] : 1;
        }
    }
    return n;
}

template <class Storage>
struct strategy_writer {
    Storage* s;
    graph_view g;
    int devices;
    int entry = 0;
    bool touched[static_cast<std::size_t>(Storage::capacity)]{};

    constexpr void fail(problem p, int op) {
        if (!s->refused) {
            p.op = op;
            s->refused = p;
            s->entry = entry;
        }
    }

    template <class On>
    constexpr void apply() {
        bool found_any = false;
        int instances = 0;
        for (int op = 0; op < g.op_count; ++op) {
            if (s->refused || g.ops[op].key != On::key) {
                continue;
            }
            ++instances;
            if (!On::all && g.ops[op].instance != On::which) {
                continue;
            }
            found_any = true;
            if (touched[op]) {
                fail({rule::layer_configured_twice, op, -1, 2, 1}, op);
                return;
            }
            touched[op] = true;
            const description d = g.describe(op);
            option_state o;
            o.pool = s->pool;
            o.pool_size = s->pool_size;
            o.d = &d;
            On::apply(o);
            s->pool_size = o.pool_size;
            if (o.refused) {
                fail(o.refused, op);
                return;
            }
            s->ops[op] = o.c;
            check_extras(o, d, op);
        }
        if (!found_any && instances > 0) {
            fail({rule::no_such_instance, -1, -1, On::which, instances - 1}, -1);
        } else if (!found_any) {
            fail({rule::unknown_layer, -1, -1, 0, 1}, -1);
        }
        ++entry;
    }

    constexpr void check_extras(const option_state& o, const description& d, int op) {
        if (const problem p = check_degrees(o.c, s->view(), d, op)) {
            fail(p, op);
            return;
        }
        // The pool does not say where a list ends, so a list of the wrong length is found here.
        if (o.placed >= 0 && o.placed != count_shards(o.c)) {
            fail({rule::placement_has_wrong_size, op, -1, o.placed, count_shards(o.c)}, op);
            return;
        }
        const index_t counted = contributions(o.c, d);
        if (o.gradient_of >= 0 && o.gradient_of != counted) {
            fail({rule::gradient_counted_twice, op, -1, o.gradient_of, counted}, op);
        }
        for (int l = 0; o.gathered && l < d.loops.size(); ++l) {
            if (o.c.degree[l] > 1 && role(d, l) == loop_role::coupled && depends(d.operands[0], l)) {
                fail({rule::gathered_into_coupled_split, op, static_cast<int>(d.loops[l].name), o.c.degree[l], 1}, op);
            }
        }
    }
};

template <class Net, index_t Batch, int Devices, class... Ons>
constexpr auto make_strategy() {
    constexpr int ops = counts_of<Net, Batch>.ops;
    constexpr int pool = ops * (0 + ... + Ons::pool_size);
    strategy_storage<ops, pool> s;
    const graph_view g = storage_of<Net, Batch>.view();
    s.count = g.op_count;
    [[maybe_unused]] strategy_writer<strategy_storage<ops, pool>> w{&s, g, Devices};
    (w.template apply<Ons>(), ...);
    if (!s.refused) {
        s.refused = check_strategy(g, s.view(), Devices);
    }
    return s;
}

template <int I, class First, class... Rest>
constexpr auto nth_entry() {
    if constexpr (I <= 0 || sizeof...(Rest) == 0) {
        return identity<typename First::layer_type>{};
    } else {
        return nth_entry<I - 1, Rest...>();
    }
}

/// The layer that a message about a strategy names: the entry's, else the operator's.
template <class Net, int Place, int Entry, class... Ons>
constexpr auto blamed() {
    if constexpr (Entry >= 0 && sizeof...(Ons) > 0) {
        return nth_entry<Entry, Ons...>();
    } else {
        return identity<typename layer_at<Net, Place>::type>{};
    }
}

} // namespace detail

/// A strategy for a network, on a machine of Devices devices and for batches of Batch samples, written by hand. Layers that are
/// not named run whole on the first device. A wrong one does not compile.
template <class Net, int Devices, index_t Batch, class... Ons>
struct strategy_of {
    using network = Net;
    static constexpr int devices = Devices;
    static constexpr index_t batch = Batch;
    static constexpr auto stored = detail::make_strategy<Net, Batch, Devices, Ons...>();
    static constexpr bool test() {
        if constexpr (!check_network<Net, Batch>::test()) {
            return false;
        } else if constexpr (stored.refused.broken == rule::none) {
            return true;
        } else {
            constexpr int place = detail::storage_of<Net, Batch>.misnumbered ? -1 : stored.refused.op;
            using culprit = typename decltype(detail::blamed<Net, place, stored.entry, Ons...>())::type;
            if constexpr (stored.refused.dimension >= 0) {
                return refuse<stored.refused.broken, layer<culprit>,
                              along<static_cast<loop_name>(stored.refused.dimension)>, found<stored.refused.found>,
                              needed<stored.refused.needed>>();
            } else {
                return refuse<stored.refused.broken, layer<culprit>, found<stored.refused.found>,
                              needed<stored.refused.needed>>();
            }
        }
    }
    static constexpr bool ok = test();
    static constexpr strategy_view view() {
        if constexpr (test()) {
            return stored.view();
        } else {
            return {};
        }
    }
};

} // namespace tessera
