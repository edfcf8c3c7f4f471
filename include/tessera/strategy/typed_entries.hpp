// SPDX-License-Identifier: Apache-2.0
// What a strategy that is a type says of all its layers together. Schedules and synchronization are in
// schedule/typed_pipeline.hpp and schedule/typed_synchronization.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/precision.hpp"
#include "tessera/strategy/recomputation.hpp"
#include "tessera/strategy/typed_options.hpp"

namespace tessera {

namespace detail {

/// Fields of a strategy that are numbers, while they are read.
struct strategy_numbers {
    int micro_batches = 1;
    int steps_per_plan = 1;
    statistics_over statistics = statistics_over::micro_batch;
    int parameters_on = -1;
    bool overlap = false;
    bool sums_first = false;
    bool state_on_host = false;
};

} // namespace detail

/// The batch is cut into Count micro-batches, as evenly as it goes.
template <int Count>
struct micro_batches {
    static constexpr detail::says what = detail::says::micro_batches;
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::strategy_numbers& s) { s.micro_batches = Count; }
};
/// One plan covers Steps steps.
template <int Steps>
struct steps_per_plan {
    static constexpr detail::says what = detail::says::steps_per_plan;
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::strategy_numbers& s) { s.steps_per_plan = Steps; }
};
template <int Steps>
using period [[deprecated("since 0.3: use steps_per_plan")]] = steps_per_plan<Steps>;
/// Over which samples batch norms take their statistics.
template <statistics_over Over>
struct statistics {
    static constexpr detail::says what = detail::says::statistics;
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::strategy_numbers& s) { s.statistics = Over; }
};
/// One device alone stores parameters and optimizer state.
template <int Device>
struct parameters_on {
    static constexpr detail::says what = detail::says::parameters_on;
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::strategy_numbers& s) { s.parameters_on = Device; }
};
/// Communication beside computation.
struct overlap {
    static constexpr detail::says what = detail::says::overlap;
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::strategy_numbers& s) { s.overlap = true; }
};
/// Gradients to which several readers on one device contribute are added up there before they are sent.
struct sums_first {
    static constexpr detail::says what = detail::says::sums_first;
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::strategy_numbers& s) { s.sums_first = true; }
};
/// The optimizer's state waits in the host's memory, and the host steps: gradients go down, parameters come up. Each
/// costs 4 bytes an element of what a device updates over its link to the host, in place of as many for every number of
/// the state each way. (The optimizer is a value, so that one without a state is refused when a plan is made.)
struct state_on_host {
    static constexpr detail::says what = detail::says::state_on_host;
    static constexpr int pool_size = 0;
    static constexpr void apply(detail::strategy_numbers& s) { s.state_on_host = true; }
};
/// The network computes in this precision: fp32, tf32 or bf16. The strategy's `network` is with_precision<Precision,
/// Net>.
template <class Precision>
struct compute_in {
    static constexpr detail::says what = detail::says::precision;
    static constexpr int pool_size = 0;
    template <class Net>
    using network = with_precision<Precision, Net>;
};

/// One stage begins at each of these layers, which stand in the order of the network (at the first instance, or at
/// instance<L, i>); what comes before the first of them is in the first stage, too.
template <class... Layers>
struct stages_from {
    static constexpr detail::says what = detail::says::stages;
    static constexpr int pool_size = 0;
    static constexpr int count = sizeof...(Layers);

    /// The first operator of every stage; a layer that is not there is the problem, and `parameter` says which.
    static constexpr problem find(const graph_view& g, int* first) {
        problem missing;
        [[maybe_unused]] int k = 0;
        ((first[k] = find_layer<on<Layers>>(g, k, missing), ++k), ...);
        return missing;
    }
    template <int I>
    static constexpr auto layer_at() {
        return nth<I, Layers...>();
    }

private:
    template <int I, class First, class... Rest>
    static constexpr auto nth() {
        if constexpr (I == 0) {
            return detail::identity<typename on<First>::layer_type>{};
        } else {
            return nth<I - 1, Rest...>();
        }
    }
    template <class On>
    static constexpr int find_layer(const graph_view& g, int number, problem& missing) {
        int instances = 0;
        for (int op = 0; op < g.op_count; ++op) {
            if (g.ops[op].key == On::key) {
                ++instances;
                if (On::all || g.ops[op].instance == On::which) {
                    return op;
                }
            }
        }
        if (!missing) {
            missing = instances > 0 ? problem{rule::no_such_instance, -1, -1, On::which, instances - 1}
                                    : problem{rule::unknown_layer, -1, -1, 0, 1};
            missing.parameter = number;
        }
        return -1;
    }
};

/// The results of these layers (of all instances, or of instance<L, i>) are made again for backward in place of being
/// kept, besides those whose on<> says recompute.
template <class... Layers>
struct recomputes {
    static constexpr detail::says what = detail::says::recomputation;
    static constexpr int pool_size = 0;

    /// Marks them; a layer that is not there, or that is a loss, is the problem, and `parameter` says which.
    static constexpr problem mark(const graph_view& g, bool* again) {
        problem wrong;
        [[maybe_unused]] int k = 0;
        (mark_layer<on<Layers>>(g, k++, again, wrong), ...);
        return wrong;
    }
    template <int I>
    static constexpr auto layer_at() {
        return stages_from<Layers...>::template layer_at<I>();
    }

private:
    template <class On>
    static constexpr void mark_layer(const graph_view& g, int number, bool* again, problem& wrong) {
        int instances = 0;
        bool any = false;
        problem found;
        for (int op = 0; op < g.op_count; ++op) {
            if (g.ops[op].key != On::key) {
                continue;
            }
            ++instances;
            if (On::all || g.ops[op].instance == On::which) {
                any = again[op] = true;
                found = g.is_loss(op) ? problem{rule::loss_is_recomputed, -1, -1, 1, 0} : found;
            }
        }
        if (!any) {
            found = instances > 0 ? problem{rule::no_such_instance, -1, -1, On::which, instances - 1}
                                  : problem{rule::unknown_layer, -1, -1, 0, 1};
        }
        if (found && !wrong) {
            wrong = found;
            wrong.parameter = number;
        }
    }
};
/// Cheap operators recompute from what is kept anyway: norms, activations, softmax, products of two activations (the
/// selective recomputation of Korthikanti et al. 2022).
struct recomputes_selectively {
    static constexpr detail::says what = detail::says::recomputation;
    static constexpr int pool_size = 0;
    static constexpr recompute_rule rule_of{recompute_rule::kind::selective};
};
/// Of every Count blocks of the network only the last outputs are kept (Chen et al. 2016); see recompute_by().
template <int Count = 1>
struct recomputes_blocks {
    static constexpr detail::says what = detail::says::recomputation;
    static constexpr int pool_size = 0;
    static constexpr recompute_rule rule_of{recompute_rule::kind::blocks, Count};
};

} // namespace tessera

#include "tessera/base/end_header.inl"
