// SPDX-License-Identifier: Apache-2.0
// What one run of a plan is, as a value that processes compare when they begin it: of which training, which batch, with
// which rate and labels.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/function_ref.hpp"
#include "tessera/execute/batch.hpp"
#include "tessera/execute/ranks/field_lines.hpp"
#include "tessera/execute/ranks/hash_of_bytes.hpp"
#include "tessera/plan/plan.hpp"

#include <bit>
#include <cstring>
#include <span>
#include <string>

namespace tessera {

constexpr const char* to_text(run_kind k) { return k == run_kind::training ? "training" : "evaluation"; }

struct step_identity {
    std::uint64_t training = 0; ///< hash of its identity (execute/ranks/training_identity.hpp)
    std::uint64_t plan = 0;     ///< hash of the plan that runs; 0: it is not made yet
    run_kind kind = run_kind::training;
    std::uint64_t number = 0; ///< steps before it, which is the number of the batch; of several the first
    std::size_t steps = 1;    ///< that the plan covers
    bool part = false;        ///< each process hands in its own part, so that nothing is said of what is in it
    std::uint64_t seed = 0;
    double learning_rate = 0;         ///< of the first
    std::uint64_t learning_rates = 0; ///< hash of all, where the plan covers several steps
    index_t samples = 0;
    index_t length = 0;       ///< of sequences; 0: they have one length
    std::uint64_t labels = 0; ///< hash of all integers (labels, tokens, lengths) and of what losses compare with
    std::uint64_t inputs = 0; ///< hash of some numbers of all other inputs
    friend bool operator==(const step_identity& a, const step_identity& b) { return same_fields(a, b); }

    template <class See>
    static constexpr void each_field(See&& see) {
        using s = step_identity;
        see("kind", &s::kind, {});
        see("number", &s::number, {});
        see("steps", &s::steps, {});
        see("part", &s::part, {});
        see("samples", &s::samples, {});
        see("length", &s::length, {});
        see("seed", &s::seed, {});
        see("learning_rate", &s::learning_rate, {});
        see("learning_rates", &s::learning_rates, {});
        see("labels", &s::labels, {});
        see("inputs", &s::inputs, {});
        see("training", &s::training, {});
        see("plan", &s::plan, {});
    }
};

/// What a run_state points to: a hash, and what it is of.
struct run_identity {
    std::uint64_t number = 0;
    function_ref<std::string()> lines;
};

namespace detail {

/// How many numbers of an input that is neither integers nor labels are looked at: a cache line each.
inline constexpr index_t most_numbers_looked_at = 64;

std::uint64_t hash_of_some(const void* data, index_t elements);

/// Adds what is in the batches of a run: `inputs` of each in the order of the network's inputs.
void add_batch(step_identity& to, const graph_view& g, std::span<const input_data> inputs);

} // namespace detail

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/ranks/step_identity.inl"
#endif

#include "tessera/base/end_header.inl"
