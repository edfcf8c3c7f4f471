// SPDX-License-Identifier: Apache-2.0
// What there is to know of a pipeline schedule that is chosen by name, as one record: its file defines it, and nothing
// else names it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/left_out.hpp"
#include "tessera/base/registry.hpp"
#include "tessera/schedule/pipeline.hpp"
#include "tessera/schedule/timetable.hpp"

namespace tessera::schedule {

struct settings;

struct schedule_record {
    std::string_view name{};  ///< on command lines and in lists: unique
    std::string_view title{}; ///< in texts
    std::string_view about{};
    /// `times` are those of every stage's actions, for schedules that depend on them. Workers and micro-batches are at
    /// least 1.
    pipeline_schedule (*make)(const settings&, const action_times& times) = nullptr;
    option_row options[2] = {}; ///< those that have a name
    /// The rule that so many workers, micro-batches and options break; null: they break none.
    optional_function<problem(const settings&)> check{};
    /// Stages that the network must be cut into; null: one for each worker.
    optional_function<int(const settings&)> stages{};
    /// The worker of a stage, where micro-batches are not mirrored; null: the stage's number modulo the workers.
    optional_function<int(const settings&, int stage)> worker_of{};
    /// What its options say, for to_text(); null: nothing.
    std::string (*details)(const settings&) = nullptr;
    bool mirrors = false;            ///< half of the micro-batches run on a second, mirrored replica
    bool plain_for_one = false;      ///< a single micro-batch goes through as under fill_drain
    bool last_returns_first = false; ///< what goes forward last goes backward first, and need not be recomputed
};

/// Which micro-batches recompute where operators do: all, but the last where it goes backward as soon as it has gone
/// forward.
constexpr rematerialize usual_rematerialization(const schedule_record& r) {
    return r.last_returns_first ? rematerialize::except_last : rematerialize::all;
}

/// A schedule by its record and size.
struct settings {
    const schedule_record* which = nullptr;
    int workers = 1;
    int micro_batches = 1;
    option_values options{};
    rematerialize again = rematerialize::none;

    /// Stages that the network must be cut into.
    constexpr int stages() const { return which->stages != nullptr ? which->stages(*this) : workers; }
    /// The worker of a stage, where micro-batches are not mirrored.
    constexpr int worker_of(int stage) const {
        return which->worker_of != nullptr ? which->worker_of(*this, stage) : stage % workers;
    }
    constexpr bool mirrors() const { return which->mirrors; }
    friend constexpr bool operator==(const settings&, const settings&) = default;
};

/// The rule that so many workers, micro-batches or options break with a schedule.
constexpr problem check(const settings& x) {
    if (x.workers < 1 || x.micro_batches < 1) {
        return {rule::pipeline_is_empty, -1, -1, x.workers < 1 ? x.workers : x.micro_batches, 1};
    }
    for (const option_row& o : x.which->options) {
        if (!o.name.empty() && x.options[o] < o.least) {
            return {rule::pipeline_is_empty, -1, -1, x.options.as<index_t>(o), static_cast<index_t>(o.least)};
        }
    }
    return x.which->check != nullptr ? x.which->check(x) : problem{};
}

/// True where a schedule takes so many workers and micro-batches.
constexpr bool is_possible(const settings& x) { return !check(x); }

/// The schedule. Throws tessera::error for sizes and options that it does not take.
pipeline_schedule make(const settings& x, const action_times& times = {});

/// "GEMS, 4 workers, 8 micro-batches in mini-batches of 2, all recomputed".
std::string to_text(const settings& x);

} // namespace tessera::schedule

#ifndef TESSERA_COMPILED
#include "tessera/schedule/record.inl"
#endif

#include "tessera/base/end_header.inl"
