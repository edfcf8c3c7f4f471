// SPDX-License-Identifier: Apache-2.0
// What the entries of a strategy that is a type amount to, and the rules that they break by themselves.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/typed_entries.hpp"

namespace tessera {

namespace detail {

/// A strategy as a constant; `refused.op` is the operator, `entry` the on<> or other entry that is to blame, and `part`
/// which of its layers.
template <int Ops, int Pool>
struct strategy_storage {
    configuration ops[static_cast<std::size_t>(Ops + 1)]{};
    index_t pool[static_cast<std::size_t>(Pool + 1)]{};
    static constexpr int capacity = Ops + 1;
    int count = 0;
    index_t pool_size = 0;
    problem refused;
    int entry = -1;
    int part = -1;
    strategy_numbers numbers;

    /// Without a schedule and messages, which are made when the program runs.
    constexpr strategy_view view() const {
        return {ops,
                count,
                pool,
                pool_size,
                numbers.micro_batches,
                nullptr,
                numbers.statistics,
                numbers.parameters_on,
                numbers.overlap,
                nullptr,
                numbers.steps_per_plan,
                numbers.sums_first,
                numbers.state_on_host};
    }
};

/// How many different contributions the gradient of an operator's parameters has: shards that differ in more than the
/// replica.
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

template <class Entry>
inline constexpr bool is_entry = requires {
    Entry::what;
};
template <class Entry>
inline constexpr bool is_schedule = requires(graph_view g, strategy_view v) {
    Entry::make_schedule(g, v);
};
template <class Entry>
inline constexpr bool is_synchronization = requires(graph_view g) {
    Entry::make_synchronization(g);
};
template <class Entry>
inline constexpr bool is_precision = requires {
    typename Entry::template network<int>;
};
template <class Entry>
inline constexpr bool is_by_blocks = false;
template <int Count>
inline constexpr bool is_by_blocks<recomputes_blocks<Count>> = true;
template <class Entry>
inline constexpr bool is_others = false;
template <class... Options>
inline constexpr bool is_others<others<Options...>> = true;

template <class Storage>
struct strategy_writer {
    Storage* s;
    graph_view g;
    int entry = 0;
    int entry_of[kinds_of_entries]{};
    bool said[kinds_of_entries]{};
    bool touched[static_cast<std::size_t>(Storage::capacity)]{};
    bool has_device[static_cast<std::size_t>(Storage::capacity)]{};
    bool has_stage[static_cast<std::size_t>(Storage::capacity)]{};
    int stage[static_cast<std::size_t>(Storage::capacity)]{};  ///< of stages_from<>
    bool again[static_cast<std::size_t>(Storage::capacity)]{}; ///< of recomputes<>
    recompute_rule rule_of_recomputation{};

    constexpr void fail(problem p, int op, int by) {
        if (!s->refused && p) {
            p.op = op;
            s->refused = p;
            s->entry = by;
        }
    }
    constexpr void fail(const problem& p, int op) { fail(p, op, entry); }
    /// The entry is to blame where no layer is.
    constexpr void fail_by(says what, const problem& p) {
        const int k = static_cast<int>(what);
        fail(p, p.op, p.op < 0 && said[k] ? entry_of[k] : -1);
    }

    /// What an entry says of one operator.
    template <class Entry>
    constexpr void configure(int op, int by) {
        const description d = g.describe(op);
        option_state o;
        o.pool = s->pool;
        o.pool_size = s->pool_size;
        o.d = &d;
        Entry::apply(o);
        s->pool_size = o.pool_size;
        has_device[op] = o.has_device;
        has_stage[op] = o.has_stage;
        if (o.refused) {
            fail(o.refused, op, by);
            return;
        }
        s->ops[op] = o.c;
        if (o.c.recompute && g.is_loss(op) && by >= 0) {
            fail({rule::loss_is_recomputed, op, -1, 1, 0}, op, by);
            return;
        }
        check_extras(o, d, op, by);
    }

    template <class Entry>
    constexpr void apply() {
        if constexpr (!is_entry<Entry>) {
            fail({rule::strategy_cannot_say, -1, -1, 0, 1}, -1);
        } else if constexpr (Entry::what == says::layer) {
            apply_to_layer<Entry>();
        } else {
            constexpr int what = static_cast<int>(Entry::what);
            if (said[what]) {
                fail({rule::strategy_says_twice, -1, -1, 2, 1}, -1);
            }
            said[what] = true;
            entry_of[what] = entry;
            if constexpr (Entry::what == says::stages) {
                int first[static_cast<std::size_t>(Entry::count + 1)]{};
                begin_stages(first, Entry::count, Entry::find(g, first));
            } else if constexpr (requires { Entry::mark(g, again); }) {
                fail_at_part(Entry::mark(g, again));
            } else if constexpr (Entry::what == says::recomputation) {
                rule_of_recomputation = Entry::rule_of;
                if (Entry::rule_of.every < 1) {
                    fail({rule::recomputed_blocks_are_none, -1, -1, Entry::rule_of.every, 1}, -1);
                }
            } else if constexpr (requires { Entry::apply(s->numbers); }) {
                Entry::apply(s->numbers);
            }
        }
        ++entry;
    }

    /// What is wrong with one of the entry's layers, if something is.
    constexpr void fail_at_part(const problem& wrong) {
        if (wrong && !s->refused) {
            s->part = wrong.parameter;
        }
        fail(wrong, -1);
    }

    constexpr void begin_stages(const int* first, int count, const problem& missing) {
        fail_at_part(missing);
        const problem p = missing ? problem{} : check_stage_starts(first, count);
        fail(p, p.op, -1);
        for (int op = 0; op < g.op_count && !p && !missing; ++op) {
            for (int k = 1; k < count; ++k) {
                stage[op] += first[k] <= op ? 1 : 0;
            }
        }
    }

    template <class On>
    constexpr void apply_to_layer() {
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
            configure<On>(op, entry);
        }
        if (!found_any && instances > 0) {
            fail({rule::no_such_instance, -1, -1, On::which, instances - 1}, -1);
        } else if (!found_any) {
            fail({rule::unknown_layer, -1, -1, 0, 1}, -1);
        }
    }

    /// What no on<> names.
    template <class Others>
    constexpr void apply_to_others() {
        for (int op = 0; op < g.op_count && !s->refused; ++op) {
            if (!touched[op]) {
                configure<Others>(op, -1);
            }
        }
    }

    constexpr void assign_stages() {
        for (int op = 0; op < g.op_count; ++op) {
            configuration c = s->ops[op]; // (g++ 12 loses numbers where one field of many in an array is written)
            c.stage = has_stage[op] ? c.stage : stage[op];
            s->ops[op] = c;
        }
    }
    /// Stages are known.
    constexpr void assign_recomputation(const repeated_blocks& r) {
        for (int op = 0; op < g.op_count; ++op) {
            again[op] = again[op] || s->ops[op].recompute;
        }
        if (rule_of_recomputation.which != recompute_rule::kind::none && !s->refused) {
            recompute_by(rule_of_recomputation, s->ops, g, r);
        }
        for (int op = 0; op < g.op_count; ++op) {
            set_recompute(s->ops[op], s->ops[op].recompute || again[op]);
        }
    }
    constexpr void start_at(int op, int device) {
        configuration c = s->ops[op];
        c.start = has_device[op] ? c.start : device;
        s->ops[op] = c;
    }

    constexpr void check_extras(const option_state& o, const description& d, int op, int by) {
        if (const problem p = check_degrees(o.c, s->view(), d, op)) {
            fail(p, op, by);
            return;
        }
        // The pool does not say where a list ends, so a list of the wrong length is found here.
        if (o.placed >= 0 && o.placed != count_shards(o.c)) {
            fail({rule::placement_has_wrong_size, op, -1, o.placed, count_shards(o.c)}, op, by);
            return;
        }
        const index_t counted = contributions(o.c, d);
        if (o.gradient_of >= 0 && o.gradient_of != counted) {
            fail({rule::gradient_counted_twice, op, -1, o.gradient_of, counted}, op, by);
        }
        for (int l = 0; o.gathered && l < d.loops.size(); ++l) {
            if (o.c.degree[l] > 1 && role(d, l) == loop_role::coupled && depends(d.operands[0], l)) {
                fail({rule::gathered_into_coupled_split, op, static_cast<int>(d.loops[l].name), o.c.degree[l], 1}, op,
                     by);
            }
        }
    }
};

} // namespace detail

} // namespace tessera

#include "tessera/base/end_header.inl"
