// SPDX-License-Identifier: Apache-2.0
// The rules of synchronization: which modes go together, and that messages hold each slice of every gradient once.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/optimizer.hpp"
#include "tessera/strategy/stage_rules.hpp"

namespace tessera {

/// What the rules ask of a synchronization, besides what its messages hold.
struct sync_modes {
    bool has_messages = false;
    sync_time sum_at = sync_time::ready;
    sync_time update_at = sync_time::ready;
    bool shards_parameters = false;
    int average_every = 0;
    compression_setting compress{};
    int staleness = 0;
    friend constexpr bool operator==(const sync_modes&, const sync_modes&) = default;
};

constexpr sync_modes modes_of(const synchronization& s) {
    return {!s.messages.empty(), s.sum_at, s.update_at, s.shards_parameters, s.average_every, s.setting(), s.staleness};
}
constexpr sync_modes modes_of(const strategy_view& s) { return s.sync != nullptr ? modes_of(*s.sync) : sync_modes{}; }

namespace detail {

/// The first operator that uses a parameter, or -1.
constexpr int first_user(const graph_view& g, int parameter) {
    for (int op = 0; op < g.op_count; ++op) {
        for (const int p : g.ops[op].parameters) {
            if (p == parameter) {
                return op;
            }
        }
    }
    return -1;
}

/// The first trained parameter, or -1.
constexpr int first_trained(const graph_view& g) {
    for (int p = 0; p < g.parameter_count; ++p) {
        if (g.parameters[p].trained) {
            return p;
        }
    }
    return -1;
}

constexpr problem broken_gradient(rule what, const graph_view& g, int parameter, index_t found_number,
                                  index_t needed_number) {
    problem p{what, first_user(g, parameter), -1, found_number, needed_number};
    p.parameter = p.op >= 0 ? parameter : -1;
    return p;
}

} // namespace detail

/// The numbers of a compression by themselves.
constexpr problem check_compression(const compression_setting& c) {
    if (c.is_on() && c.block < 1) {
        return {rule::compression_block_is_empty, -1, -1, c.block, 1};
    }
    return c.is_on() && c.keep_one_in < 1 ? problem{rule::compression_keeps_nothing, -1, -1, c.keep_one_in, 1}
                                          : problem{};
}

/// The first rule that the modes of a strategy's synchronization break together, with the first layer whose parameter
/// it cannot treat so.
constexpr problem check_modes(const graph_view& g, const strategy_view& s, const sync_modes& sync) {
    const int first = detail::first_trained(g);
    const auto refuse_with = [&](rule what, index_t found_number, index_t needed_number) {
        return detail::broken(what, detail::first_user(g, first), -1, found_number, needed_number);
    };
    if (sync.average_every < 0) {
        return refuse_with(rule::averages_never, sync.average_every, 1);
    }
    if (sync.average_every > 0) {
        if (sync.has_messages || sync.shards_parameters || s.parameters_on >= 0) {
            return refuse_with(rule::averages_of_sums, sync.average_every, 0);
        }
        if (s.steps_per_plan % sync.average_every != 0) {
            return refuse_with(rule::averages_past_the_period, s.steps_per_plan, sync.average_every);
        }
    }
    if (sync.shards_parameters && s.parameters_on >= 0) {
        return refuse_with(rule::slices_on_one_device, s.parameters_on, -1);
    }
    if (sync.compress.is_on()) {
        if (const problem p = check_compression(sync.compress)) {
            return refuse_with(p.broken, p.found, p.needed);
        }
        if (s.parameters_on >= 0) {
            return refuse_with(rule::compression_without_copies, s.parameters_on, -1);
        }
    }
    const bool waits = sync.has_messages && sync.update_at == sync_time::after_backward && !sync.shards_parameters;
    if (sync.staleness != 0 && !waits && first >= 0) {
        return refuse_with(rule::staleness_without_waiting, sync.staleness, 0);
    }
    if (!sync.has_messages && first >= 0) {
        if (sync.compress.is_on()) {
            return refuse_with(rule::compression_without_messages, 0, 1);
        }
        if (sync.shards_parameters) {
            return refuse_with(rule::slices_without_messages, 0, 1);
        }
        if (sync.sum_at != sync_time::ready || sync.update_at != sync_time::ready) {
            return refuse_with(rule::times_without_messages, 0, 1);
        }
    }
    return {};
}

/// The first rule that messages break: each slice of every gradient goes once, parameters in slices are divided by
/// their members alone.
TESSERA_VECTOR_CONSTEXPR problem check_messages(const graph_view& g, const synchronization& sync) {
    detail::int_array given(static_cast<std::size_t>(g.parameter_count), 0);
    detail::int_array slices(static_cast<std::size_t>(g.parameter_count), 0);
    for (const message& m : sync.messages) {
        for (const gradient_slice& x : m.slices) {
            if (x.parameter < 0 || x.parameter >= g.parameter_count || !g.parameters[x.parameter].trained) {
                return detail::broken_gradient(rule::message_of_no_gradient, g, x.parameter, x.parameter,
                                               g.parameter_count);
            }
            if (x.slices < 1 || x.slice < 0 || x.slice >= x.slices) {
                return detail::broken_gradient(rule::slice_outside_gradient, g, x.parameter, x.slice, x.slices);
            }
            if (sync.shards_parameters && m.method != exchange::sliced) {
                return detail::broken(rule::slices_not_sliced, detail::first_user(g, x.parameter), -1,
                                      static_cast<index_t>(m.method), 0);
            }
            if (sync.shards_parameters && x.slices != 1) {
                return detail::broken(rule::slices_in_slices, detail::first_user(g, x.parameter), -1, x.slices, 1);
            }
            if (sync.compress != compression::none && m.method != exchange::all_reduce) {
                return detail::broken(rule::compression_not_all_reduced, detail::first_user(g, x.parameter), -1,
                                      static_cast<index_t>(m.method), static_cast<index_t>(exchange::all_reduce));
            }
            if (sync.compress != compression::none && x.slices != 1) {
                return detail::broken(rule::compression_in_slices, detail::first_user(g, x.parameter), -1, x.slices, 1);
            }
            const auto p = static_cast<std::size_t>(x.parameter);
            if (slices[p] != 0 && slices[p] != x.slices) {
                return detail::broken_gradient(rule::slices_differ, g, x.parameter, x.slices, slices[p]);
            }
            slices[p] = x.slices;
            ++given[p];
        }
    }
    detail::int_array first(static_cast<std::size_t>(g.parameter_count) + 1, 0);
    for (int p = 0; p < g.parameter_count; ++p) {
        const auto i = static_cast<std::size_t>(p);
        if (given[i] == 0 && g.parameters[p].trained) {
            return detail::broken_gradient(rule::gradient_not_sent, g, p, 0, 1);
        }
        if (given[i] < slices[i]) { // so that there are no more slices than messages have room for
            return detail::broken_gradient(rule::slices_are_missing, g, p, given[i], slices[i]);
        }
        first[i + 1] = first[i] + slices[i];
    }
    detail::int_array sent(static_cast<std::size_t>(first[static_cast<std::size_t>(g.parameter_count)]), 0);
    for (const message& m : sync.messages) {
        for (const gradient_slice& x : m.slices) {
            if (sent[static_cast<std::size_t>(first[static_cast<std::size_t>(x.parameter)] + x.slice)]++ != 0) {
                return detail::broken_gradient(rule::slice_sent_twice, g, x.parameter, x.slice, x.slices);
            }
        }
    }
    return {};
}

/// The first rule that the synchronization of a strategy breaks, given what it amounts to.
constexpr problem check_synchronization(const graph_view& g, const strategy_view& s, const sync_modes& sync) {
    if (const problem p = check_modes(g, s, sync)) {
        return p;
    }
    return s.sync != nullptr && sync.has_messages ? check_messages(g, *s.sync) : problem{};
}
constexpr problem check_synchronization(const graph_view& g, const strategy_view& s) {
    return check_synchronization(g, s, modes_of(s));
}

/// The rule that averages of parameters break with an optimizer: there would be states of every copy's own, or steps
/// that are not linear in the gradient.
constexpr problem check_averages(const graph_view& g, const strategy_view& s, const optimizer& update) {
    const bool clips = update.clip_norm > 0 || update.clip_value > 0;
    const bool plain = update.state_count() == 0 && !clips && !update.is_layerwise();
    if (s.sync == nullptr || s.sync->average_every == 0 || plain) {
        return {};
    }
    return detail::broken(rule::averages_need_plain_sgd, detail::first_user(g, detail::first_trained(g)), -1,
                          update.state_count() > 0 ? update.state_count() : 1, 0);
}

/// The bound on staleness by itself, for plans of `period` steps.
constexpr problem check_staleness(int staleness, int steps_per_plan) {
    return staleness < 0 || staleness >= steps_per_plan
               ? problem{rule::staleness_out_of_range, -1, -1, staleness, staleness < 0 ? 0 : steps_per_plan - 1}
               : problem{};
}

constexpr bool takes_norms(const optimizer& update) { return update.clip_norm > 0 || update.is_layerwise(); }

/// The rule that stale gradients break with an optimizer: norms are those of one step.
constexpr problem check_stale(const graph_view& g, const strategy_view& s, const optimizer& update) {
    if (s.sync == nullptr || s.sync->staleness == 0 || !takes_norms(update)) {
        return {};
    }
    return detail::broken(rule::staleness_without_norms, detail::first_user(g, detail::first_trained(g)), -1, 1, 0);
}

/// The rule that compressed gradients break with an optimizer: norms are taken of slices of what is summed, and here
/// each device has all of it.
constexpr problem check_compressed(const graph_view& g, const strategy_view& s, const optimizer& update) {
    if (s.sync == nullptr || s.sync->compress == compression::none || !takes_norms(update)) {
        return {};
    }
    return detail::broken(rule::compression_without_norms, detail::first_user(g, detail::first_trained(g)), -1, 1, 0);
}

/// The rule that a state on the host breaks with an optimizer that has none.
constexpr problem check_state_on_host(const graph_view& g, const strategy_view& s, const optimizer& update) {
    return s.state_on_host && update.state_count() == 0
               ? detail::broken(rule::state_on_host_without_state, detail::first_user(g, detail::first_trained(g)), -1,
                                0, 1)
               : problem{};
}

} // namespace tessera

#include "tessera/base/end_header.inl"
