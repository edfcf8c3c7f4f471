// SPDX-License-Identifier: Apache-2.0
// What a backend may have besides what Backend asks for: device memory of its own, and work around a plan's runs. A backend whose
// tasks are finished when their calls return, in memory of the processor, has none of it.
#pragma once

#include "tessera/execute/evaluation.hpp"
#include "tessera/execute/store.hpp"
#include "tessera/op/optimizer.hpp"

#include <concepts>

namespace tessera {

/// `b.leaders(tile, memory)`: the largest logit of every row of a tile of logits, without a copy of them all. Others copy.
template <class B>
concept finds_leaders = requires(B& b, const tile& t, const std::byte* memory) {
    { b.leaders(t, memory) } -> std::same_as<std::vector<row_leader>>;
};

/// `b.memory()`: where arenas come from. The backend must outlive them.
template <class B>
memory_source memory_of(B& b) {
    if constexpr (requires { b.memory(); }) {
        return b.memory();
    } else {
        return {};
    }
}

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

template <class B>
B make_backend(const optimizer& update, const own_options_of<B>& own) {
    if constexpr (requires { B(update, own); }) {
        return B(update, own);
    } else {
        return B(update);
    }
}

/// `b.require_room(bytes)`: before arenas are made or grow, by so many bytes on every device; throws tessera::error where a device has not as
/// much memory left.
template <class B>
void require_room(B& b, const std::vector<index_t>& bytes) {
    if constexpr (requires { b.require_room(bytes); }) {
        b.require_room(bytes);
    }
}

/// `b.load(plan, graph, addresses)`: once for every plan, before its tasks are prepared. The addresses identify the plan from then on.
template <class B>
void load_plan(B& b, const plan& p, const graph_view& g, const addresses& where) {
    if constexpr (requires { b.load(p, g, where); }) {
        b.load(p, g, where);
    }
}

/// `b.unload(addresses)`: the plan does not run again; what was prepared for it may go. Also of plans that were never loaded.
template <class B>
void unload_plan(B& b, const addresses& where) {
    if constexpr (requires { b.unload(where); }) {
        b.unload(where);
    }
}

/// True where a task is done, in memory of the processor, when its call returns: the backend does nothing around a run. One that queues its
/// tasks sees itself to what depends on what they compute.
template <class B>
constexpr bool runs_when_called = !requires(B & b, const addresses& where, const run_state& state) {
    b.begin_run(where, state, 0, 0);
};

/// Runs `body` between `b.begin_run(addresses, state, first, last)` and `b.end_run(addresses, failed)`, the latter also when either throws.
/// Tasks [first, last) of the plan run in between.
template <class B, class Body>
void run_between(B& b, const addresses& where, const run_state& state, int first, int last, Body&& body) {
    if constexpr (requires { b.begin_run(where, state, first, last); }) {
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
