// SPDX-License-Identifier: Apache-2.0
// Strategies as types, checked by the compiler: strategy_of<Net, Devices, Batch, on<conv1, split<sample, 2>>, ...>.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/typed_writer.hpp"

namespace tessera {

namespace detail {

/// The first of the entries that is one of a kind, as identity<Entry>.
template <template <class> class Is, class First, class... Rest>
constexpr auto find_entry() {
    if constexpr (Is<First>::value) {
        return identity<First>{};
    } else {
        return find_entry<Is, Rest...>();
    }
}
template <class Entry>
struct schedule_test {
    static constexpr bool value = is_schedule<Entry>;
};
template <class Entry>
struct synchronization_test {
    static constexpr bool value = is_synchronization<Entry>;
};
template <class Entry>
struct precision_test {
    static constexpr bool value = is_precision<Entry>;
};

/// The network that a strategy is for: in the precision that it says, if it says one.
template <class Net, class... Entries>
constexpr auto network_of() {
    if constexpr ((is_precision<Entries> || ...)) {
        using entry = typename decltype(find_entry<precision_test, Entries...>())::type;
        return identity<typename entry::template network<Net>>{};
    } else {
        return identity<Net>{};
    }
}

template <class Entry>
constexpr int pool_of() {
    if constexpr (is_entry<Entry>) {
        return Entry::pool_size;
    } else {
        return 0;
    }
}

/// A constant of its own: compilers limit the work of each.
template <class Net, index_t Batch>
inline constexpr repeated_blocks recomputed_blocks_of = blocks_to_recompute(storage_of<Net, Batch>.view());

template <class Net, index_t Batch, int Devices, class... Entries>
constexpr auto make_strategy() {
    constexpr int ops = counts_of<Net, Batch>.ops;
    constexpr int pool = ops * (0 + ... + pool_of<Entries>());
    strategy_storage<ops, pool> s;
    const graph_view g = storage_of<Net, Batch>.view();
    s.count = g.op_count;
    strategy_writer<strategy_storage<ops, pool>> w{&s, g};
    (w.template apply<Entries>(), ...);
    if constexpr ((is_others<Entries> || ...)) {
        const auto fill = [&]<class Entry>(identity<Entry>) {
            if constexpr (is_others<Entry>) {
                w.template apply_to_others<Entry>();
            }
        };
        (fill(identity<Entries>{}), ...);
    }
    w.assign_stages();
    if constexpr ((is_by_blocks<Entries> || ...)) {
        w.assign_recomputation(recomputed_blocks_of<Net, Batch>);
    } else {
        w.assign_recomputation({});
    }
    const strategy_view v = s.view();
    w.fail_by(says::stages, s.refused ? problem{} : check_stages(g, v, {}));
    schedule_facts order;
    sync_modes modes;
    for (int op = 0; op < g.op_count; ++op) {
        w.start_at(op, s.ops[op].stage);
    }
    if constexpr ((is_schedule<Entries> || ...)) {
        using entry = typename decltype(find_entry<schedule_test, Entries...>())::type;
        if (!s.refused) {
            w.fail_by(says::schedule, entry::check(v));
        }
        if (!s.refused) {
            order = entry::facts(v);
            for (int op = 0; op < g.op_count; ++op) {
                w.start_at(op, entry::first_device(v, s.ops[op].stage));
            }
        }
    }
    if constexpr ((is_synchronization<Entries> || ...)) {
        using entry = typename decltype(find_entry<synchronization_test, Entries...>())::type;
        if (!s.refused) {
            w.fail_by(says::synchronization, entry::check(g));
            modes = entry::modes(g);
        }
    }
    if (!s.refused) {
        s.refused = check_layout(g, v, Devices, order, modes);
    }
    if constexpr ((is_schedule<Entries> || ...)) {
        using entry = typename decltype(find_entry<schedule_test, Entries...>())::type;
        if (!s.refused) {
            w.fail_by(says::schedule, entry::check_order(g, v));
        }
    }
    if (!s.refused) {
        s.refused = check_task_count(v);
    }
    return s;
}

template <int I, class First, class... Rest>
constexpr auto nth_entry() {
    if constexpr (I <= 0 || sizeof...(Rest) == 0) {
        return identity<First>{};
    } else {
        return nth_entry<I - 1, Rest...>();
    }
}

/// What a message about a strategy names: the entry's layer, else the operator's, else the entry, else the network.
template <class Net, int Place, int Entry, int Part, class... Entries>
constexpr auto blamed() {
    if constexpr (Entry >= 0 && sizeof...(Entries) > 0) {
        using entry = typename decltype(nth_entry<Entry, Entries...>())::type;
        if constexpr (requires { typename entry::layer_type; }) {
            return identity<layer<typename entry::layer_type>>{};
        } else if constexpr (Part >= 0) {
            return identity<layer<typename decltype(entry::template layer_at<Part>())::type>>{};
        } else {
            return identity<saying<entry>>{};
        }
    } else {
        return identity<layer<typename layer_at<Net, Place>::type>>{};
    }
}

} // namespace detail

/// A strategy for a network, on a machine of Devices devices and for batches of Batch samples, written by hand: on<>
/// for layers, and what holds for all of them (others<>, stages_from<>, micro_batches<>, pipeline<>, synchronize<>,
/// overlap, ...). Layers that are not named run whole on the first device of their stage. A wrong one does not compile.
template <class Net, int Devices, index_t Batch, class... Entries>
struct strategy_of {
    using network = typename decltype(detail::network_of<Net, Entries...>())::type;
    static constexpr int devices = Devices;
    static constexpr index_t batch = Batch;
    static constexpr auto stored = detail::make_strategy<network, Batch, Devices, Entries...>();
    static constexpr bool test() {
        if constexpr (!check_network<network, Batch>::test()) {
            return false;
        } else if constexpr (stored.refused.broken == rule::none) {
            return true;
        } else {
            constexpr problem p = stored.refused;
            constexpr int place = detail::storage_of<network, Batch>.misnumbered ? -1 : p.op;
            using culprit =
                typename decltype(detail::blamed<network, place, stored.entry, stored.part, Entries...>())::type;
            if constexpr (p.action >= 0) { // which says more than the whole schedule
                return refuse<p.broken, at_action<static_cast<action_kind>(p.action), p.stage, p.micro_batch>,
                              found<p.found>, needed<p.needed>>();
            } else if constexpr (p.dimension >= 0) {
                return refuse<p.broken, culprit, along<static_cast<loop_name>(p.dimension)>, found<p.found>,
                              needed<p.needed>>();
            } else {
                return refuse<p.broken, culprit, found<p.found>, needed<p.needed>>();
            }
        }
    }
    static constexpr bool ok = test();
    /// As a constant, which has neither the schedule nor the messages.
    static constexpr strategy_view configurations() {
        if constexpr (test()) {
            return stored.view();
        } else {
            return {};
        }
    }
    /// With the schedule and the messages, if it says any; then it is no constant.
    static constexpr strategy_view view() {
        if constexpr (!test()) {
            return {};
        } else if constexpr (((detail::is_schedule<Entries> || detail::is_synchronization<Entries>) || ...)) {
            return made().view();
        } else {
            return stored.view();
        }
    }

private:
    /// With its schedule and messages, made when it is first asked for.
    static const strategy& made() {
        static const strategy all = [] {
            strategy s(stored.view());
            const graph_view g = detail::storage_of<network, Batch>.view();
            if constexpr ((detail::is_schedule<Entries> || ...)) {
                using entry = typename decltype(detail::find_entry<detail::schedule_test, Entries...>())::type;
                s.schedule = entry::make_schedule(g, stored.view());
            }
            if constexpr ((detail::is_synchronization<Entries> || ...)) {
                using entry = typename decltype(detail::find_entry<detail::synchronization_test, Entries...>())::type;
                s.sync = entry::make_synchronization(g);
            }
            return s;
        }();
        return all;
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
