// SPDX-License-Identifier: Apache-2.0
// Synchronization written message by message in a strategy that is a type:
// messages<send<exchange::all_reduce, weight_of<fc1>, bias_of<fc1>>, ..., update_after_backward>.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/constant_vector.hpp"
#include "tessera/strategy/synchronization_rules.hpp"
#include "tessera/strategy/typed_options.hpp"

namespace tessera {

namespace detail {

/// Messages while they are read, and the first layer or parameter that is not there.
struct message_state {
    synchronization made;
    problem refused;
};

/// A parameter of a layer: of its first instance, or of instance<L, i>.
template <class L, int Slot>
struct layer_gradient {
    static constexpr gradient_slice find(const graph_view& g, problem& refused) {
        int instances = 0;
        for (int op = 0; op < g.op_count; ++op) {
            if (g.ops[op].key != on<L>::key) {
                continue;
            }
            ++instances;
            if (!on<L>::all && g.ops[op].instance != on<L>::which) {
                continue;
            }
            for (const int p : g.ops[op].parameters) {
                if (g.parameters[p].slot == Slot) {
                    return {p, 0, 1};
                }
            }
            fail(refused, {rule::message_of_no_gradient, op, -1, Slot, g.ops[op].parameters.size()});
            return {};
        }
        fail(refused, instances > 0 ? problem{rule::no_such_instance, -1, -1, on<L>::which, instances - 1}
                                    : problem{rule::unknown_layer, -1, -1, 0, 1});
        return {};
    }

private:
    static constexpr void fail(problem& refused, const problem& p) { refused = refused ? refused : p; }
};

} // namespace detail

/// The gradient of a layer's weight (or gamma), and that of its bias (or beta).
template <class L>
struct weight_of : detail::layer_gradient<L, 0> {};
template <class L>
struct bias_of : detail::layer_gradient<L, 1> {};
/// Slice Number of Count equal ones of a gradient.
template <class Gradient, int Number, int Count>
struct gradient_slice_of {
    static constexpr gradient_slice find(const graph_view& g, problem& refused) {
        const gradient_slice whole = Gradient::find(g, refused);
        return {whole.parameter, Number, Count};
    }
};

/// A message of gradients that travel together.
template <exchange How, class... Gradients>
struct send {
    static constexpr void apply(const graph_view& g, detail::message_state& s) {
        s.made.messages.push_back({How, 0, {}});
        (s.made.messages.back().slices.push_back(Gradients::find(g, s.refused)), ...);
    }
};
/// The same to server Number of the members, counted from 0 and around.
template <int Number, class... Gradients>
struct send_to_server {
    static constexpr void apply(const graph_view& g, detail::message_state& s) {
        send<exchange::server, Gradients...>::apply(g, s);
        s.made.messages.back().server = Number;
    }
};
/// Messages wait until all gradients are there.
struct sum_after_backward {
    static constexpr void apply(const graph_view&, detail::message_state& s) {
        s.made.sum_at = sync_time::after_backward;
    }
};
/// What is summed waits until all gradients are there.
struct update_after_backward {
    static constexpr void apply(const graph_view&, detail::message_state& s) {
        s.made.update_at = sync_time::after_backward;
    }
};
/// What goes to a server and back leaves when it can, that of the layer that comes first forward before others.
struct urgent_first {
    static constexpr void apply(const graph_view&, detail::message_state& s) { s.made.urgent_first = true; }
};
/// Parameters are stored as slices, gathered before an operator's tasks and given up after them.
struct shards_parameters {
    static constexpr void apply(const graph_view&, detail::message_state& s) { s.made.shards_parameters = true; }
};

/// Gradients are compressed on their way, in blocks of so many elements or, top_k, to one element of so many.
template <compression How, int Number = How == compression::top_k ? usual_keep_one_in : usual_block>
struct compress_gradients {
    static constexpr void apply(const graph_view&, detail::message_state& s) {
        s.made.compress = How;
        (How == compression::top_k ? s.made.keep_one_in : s.made.compress_block) = Number;
    }
};

/// What is summed is used so many steps late, in a plan of more steps.
template <int Staleness>
struct bounded_staleness {
    static constexpr void apply(const graph_view&, detail::message_state& s) { s.made.staleness = Staleness; }
};

template <int Staleness>
using used_late [[deprecated("since 0.3: use bounded_staleness")]] = bounded_staleness<Staleness>;

/// Messages in their order, and when what they sum is used.
template <class... Parts>
struct messages {
    static constexpr detail::says what = detail::says::synchronization;
    static constexpr int pool_size = 0;

    static TESSERA_VECTOR_CONSTEXPR detail::message_state read(const graph_view& g) {
        detail::message_state s;
        (Parts::apply(g, s), ...);
        return s;
    }
    static TESSERA_VECTOR_CONSTEXPR problem check(const graph_view& g) {
        detail::require_constant_vectors<messages>();
        const detail::message_state s = read(g);
        return s.refused || s.made.messages.empty() ? s.refused : check_messages(g, s.made);
    }
    static TESSERA_VECTOR_CONSTEXPR sync_modes modes(const graph_view& g) { return modes_of(read(g).made); }
    static synchronization make_synchronization(const graph_view& g) { return read(g).made; }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
