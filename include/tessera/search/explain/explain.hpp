// SPDX-License-Identifier: Apache-2.0
// Why an operator has the configuration that it has: what each alternative would cost, the rest of the strategy staying
// as it is, and what moves because of the operator.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/additive.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/plan/movements.hpp"
#include "tessera/search/configurations.hpp"
#include "tessera/search/finished_step.hpp"
#include "tessera/simulate/delta/delta.hpp"

namespace tessera::search {

/// A configuration that an operator might have, and what it would cost.
struct alternative {
    configuration what;       ///< without a place in a pool: `devices` has it
    std::vector<int> devices; ///< of every shard
    bool chosen = false;
    index_t step = 0;            ///< ns of the whole step, simulated, everything else as it is
    index_t compute = 0;         ///< ns by the additive model (OptCNN's t_C) on uniform_machine()
    index_t synchronization = 0; ///< t_S
    index_t transfer =
        0; ///< t_X of all edges of the operator; -1 on more than most_compared devices, where it takes long to count
};

inline constexpr int most_compared = 32;

struct explanation {
    int op = -1;
    index_t step = 0;                      ///< ns of the strategy's step, simulated
    std::vector<alternative> alternatives; ///< the chosen one among them; fastest step first
    std::vector<movement> moves;           ///< most bytes first
};

struct explain_options {
    configuration_options offered;
    simulation::task_times times;
    lower_options lowering;
};

namespace detail {

/// Prices whole steps in which one operator differs: by delta simulation, or, where micro-batches, stages or
/// recomputation forbid it, or waits of the finished plan count, by lowering everything again.
class step_pricer {
public:
    step_pricer(const graph_view& g, const cluster& on, const strategy& s, const explain_options& o);
    index_t now() const { return delta_.empty() ? price(s_) : delta_.front().makespan(); }
    index_t with(int op, const alternative& a);

private:
    index_t price(const strategy& s) const;

    const cluster& on_;
    graph_view g_;
    const strategy& s_;
    const explain_options& options_;
    std::vector<simulation::delta_simulation> delta_; ///< one, or none
};

std::vector<int> devices_of(const configuration& c, const std::vector<index_t>& pool);

/// The devices that operators of one stage use, in order: all of them where nothing is staged.
std::vector<int> room_of(const strategy& s, int op, int devices);

/// Prices an alternative by the additive model.
void add_model_costs(const graph_view& g, const strategy& s, int op, const machine& on, alternative& a);

} // namespace detail

/// Why operator `op` is configured as it is. Alternatives are the configurations offered, placed on the first devices
/// (of its stage, where there are stages), and on those that the operator has now where it has as many shards. Throws
/// tessera::error for an operator that does not exist and for a strategy that breaks the rules.
explanation explain(const graph_view& g, const cluster& on, const strategy& s, int op,
                    const explain_options& options = {});

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/explain/explain.inl"
#endif

#include "tessera/base/end_header.inl"
