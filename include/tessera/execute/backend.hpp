// SPDX-License-Identifier: Apache-2.0
// The contract between the executor and a backend, whole: what every backend has, and, each with its default, what one
// may have besides.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/evaluation.hpp"
#include "tessera/execute/local/devices.hpp"
#include "tessera/execute/local/link_speed.hpp"
#include "tessera/execute/local/store.hpp"
#include "tessera/net/operator_set.hpp"
#include "tessera/op/optimizer.hpp"
#include "tessera/plan/plan.hpp"

#include <concepts>

namespace tessera {

// ---- what every backend has -----------------------------------------------------------------------------------------

/// What an executor asks: a backend outlives the executors that use it, and has
///   b.bind(plan, graph, store)              chooses implementations and memory formats, inserts reorders; throws
///                                           tessera::error where an operator is not supported. A store (or null) fixes
///                                           the formats of parameters;
///   b.start(device)                         readies the calling thread for a device;
///   b.prepare(plan, task, graph, addresses) makes what runs a task; called on the thread that will run it.
template <class B>
concept RunsTasks = requires(B& b, plan& p, const graph_view& g, const addresses& a) {
    b.bind(p, g, static_cast<const parameter_store*>(nullptr));
    b.start(0);
    { b.prepare(p, 0, g, a) } -> std::same_as<runnable>;
};

/// What sessions and trainers ask besides: a backend is made from an optimizer, and has
///   B::supports(record, pass, precision)    whether it computes a pass of an operator; a constant expression;
///   b.to_plain(tile, memory, numbers)       copies a tile out of its format, and
///   b.from_plain(tile, numbers, memory)     into it.
template <class B>
concept Backend = RunsTasks<B> && requires(B& b, const tile& t, const op_record& r, std::byte* memory, float* numbers) {
    { B::supports(r, pass::forward, precision::fp32) } -> std::same_as<bool>;
    b.to_plain(t, static_cast<const std::byte*>(memory), numbers);
    b.from_plain(t, static_cast<const float*>(numbers), memory);
};

// ---- how one is made ------------------------------------------------------------------------------------------------

struct session_options {
    std::uint64_t seed = 1;
    bool keep_gradients = false;
    bool for_training =
        true; ///< false: parameters alone, without the optimizer's state and plans for training; for predictions and
              ///< evaluations
    index_t device_memory = 0; ///< bytes of each device, for parameters and all plans together; 0: no limit
    bool measure =
        false; ///< implementations and formats are measured when a plan is built, not chosen by rules of thumb
    std::string profile{}; ///< file that keeps what was measured for the next time; empty: nothing is kept
    link_speed links{};    ///< between devices of this process: slower than they are, to see what a network would do
    bool fuse = true; ///< element-wise operators that are expressions, several in a row, run as one (plan/fuse.hpp)

    /// All fields by name (strategy/described.hpp); `permits`: it changes no number that is computed.
    template <class See>
    static constexpr void each_field(See&& see) {
        using o = session_options;
        see("seed", &o::seed, {});
        see("keep_gradients", &o::keep_gradients, {});
        see("trains", &o::for_training, {});
        see("device_memory", &o::device_memory, {.permits = true});
        see("measure", &o::measure, {});
        see("profile", &o::profile, {.permits = true});
        see("links", &o::links, {.permits = true});
        see("fuse", &o::fuse, {});
    }
};

/// Options of a backend alone, its type `options`; nothing where it has none.
template <class B>
struct own_options {
    struct type {};
};
template <class B>
requires requires { typename B::options; }
struct own_options<B> {
    using type = typename B::options;
};
template <class B>
using own_options_of = typename own_options<B>::type;

namespace detail {

template <class B, class... Options>
concept makes_backend = std::constructible_from<B, const optimizer&, const Options&...>;

template <class B, OperatorSet Set, class... Options>
B make_backend(const optimizer& update, const Options&... options) {
    if constexpr (makes_backend<B, Options..., Set>) {
        return B(update, options..., Set());
    } else {
        return B(update, options...);
    }
}

} // namespace detail

/// A backend for a session's options, B(optimizer, options), or for these and its own; one that has nothing to choose
/// is made from the optimizer alone. Set: the operators that networks may have (net/operator_set.hpp), for backends
/// that take it as their last argument.
template <class B, OperatorSet Set = all_operators>
B make_backend(const optimizer& update, const session_options& options) {
    if constexpr (detail::makes_backend<B, session_options>) {
        return detail::make_backend<B, Set>(update, options);
    } else {
        return detail::make_backend<B, Set>(update);
    }
}
template <class B, OperatorSet Set = all_operators>
B make_backend(const optimizer& update, const session_options& options, const own_options_of<B>& own) {
    if constexpr (detail::makes_backend<B, session_options, own_options_of<B>>) {
        return detail::make_backend<B, Set>(update, options, own);
    } else {
        return make_backend<B, Set>(update, options);
    }
}
template <class B, OperatorSet Set = all_operators>
B make_backend(const optimizer& update, const own_options_of<B>& own) {
    if constexpr (detail::makes_backend<B, own_options_of<B>>) {
        return detail::make_backend<B, Set>(update, own);
    } else {
        return detail::make_backend<B, Set>(update);
    }
}

// ---- what one may have besides: memory of its own, and work around a plan's runs. A backend whose tasks are finished
// when their calls return, in memory of the processor, has none of it -------------------------------------------------

/// `b.memory()`: where arenas come from, if not from the processor's memory. The backend must outlive them.
template <class B>
concept has_memory = requires(B& b) {
    { b.memory() } -> std::convertible_to<memory_source>;
};
/// `b.require_room(bytes)`: before arenas are made or grow, by so many bytes on every device; throws tessera::error
/// where a device has not as much memory left.
template <class B>
concept asks_for_room = requires(B& b, const std::vector<index_t>& bytes) {
    b.require_room(bytes);
};
/// `b.load(plan, graph, addresses)`: once for every plan, before its tasks are prepared. The addresses identify the
/// plan from then on.
template <class B>
concept loads_plans = requires(B& b, const plan& p, const graph_view& g, const addresses& where) {
    b.load(p, g, where);
};
/// `b.unload(addresses)`: the plan does not run again; what was prepared for it may go. Also of plans that were never
/// loaded.
template <class B>
concept unloads_plans = requires(B& b, const addresses& where) {
    b.unload(where);
};
/// `b.begin_run(addresses, state, first, last)` and `b.end_run(addresses, failed)`: around the run of tasks [first,
/// last) of a plan, the latter also when the run fails. A backend that queues its tasks has them, and sees itself to
/// what depends on what they compute.
template <class B>
concept queues_tasks = requires(B& b, const addresses& where, const run_state& state) {
    b.begin_run(where, state, 0, 0);
    b.end_run(where, false);
};
/// `b.leaders(tile, memory)`: the largest logit of every row of a tile of logits, without a copy of them all. Others
/// copy.
template <class B>
concept finds_leaders = requires(B& b, const tile& t, const std::byte* memory) {
    { b.leaders(t, memory) } -> std::same_as<std::vector<row_leader>>;
};
/// `b.agree_over(group)`: what it measures from now on is the same in all processes of a group (or null: its own), so
/// that they choose alike; all call it. A backend that chooses by measurement has it.
template <class B>
concept agrees_over_groups = requires(B& b, process_group* group) {
    b.agree_over(group);
};
/// In the backend's namespace, measured_tasks_of(backend, devices): it can time tasks by themselves (see
/// backend/host/measure/measured_tasks.hpp). Others' tasks are predicted.
template <class B>
concept measures_tasks = requires(B& b, const local_devices& d) {
    measured_tasks_of(b, d);
};

// ---- the defaults ---------------------------------------------------------------------------------------------------

template <class B>
memory_source memory_of(B& b) {
    if constexpr (has_memory<B>) {
        return b.memory();
    } else {
        return {};
    }
}

template <class B>
void require_room(B& b, const std::vector<index_t>& bytes) {
    if constexpr (asks_for_room<B>) {
        b.require_room(bytes);
    }
}

template <class B>
void agree_over(B& b, process_group* group) {
    if constexpr (agrees_over_groups<B>) {
        b.agree_over(group);
    }
}

template <class B>
void load_plan(B& b, const plan& p, const graph_view& g, const addresses& where) {
    if constexpr (loads_plans<B>) {
        b.load(p, g, where);
    }
}

template <class B>
void unload_plan(B& b, const addresses& where) {
    if constexpr (unloads_plans<B>) {
        b.unload(where);
    }
}

/// Runs `body` between begin_run and end_run.
template <class B, class Body>
void run_between(B& b, const addresses& where, const run_state& state, int first, int last, Body&& body) {
    if constexpr (queues_tasks<B>) {
        try {
            b.begin_run(where, state, first, last);
            body();
        } catch (...) {
            try {
                b.end_run(where, true);
            } catch (...) { // the first error is the one that is told
            }
            throw;
        }
        b.end_run(where, false);
    } else {
        body();
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
