// SPDX-License-Identifier: Apache-2.0
// What a choice of fit() takes in time and memory, quickly and roughly: to decide which are worth a simulation, and to
// cut stages.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/collective.hpp"
#include "tessera/search/fit/times.hpp"

namespace tessera::search {

/// An estimate of a step.
struct fit_guess {
    index_t step = 0;  ///< ns
    index_t bytes = 0; ///< of the device that needs most
};

class fit_estimator {
public:
    fit_estimator(const graph_view& g, const cluster& on, const fit_options& o)
        : on_(on), g_(g), o_(o), times_(g, on, o.reached), speed_(speed_of(on, o.reached)) {}

    const schedule::worker_speed& speed() const { return speed_; }

    /// What stages are balanced by.
    std::vector<schedule::operator_load> loads_of(const fit_choice& x);

    /// Time units of every stage's actions, with what it recomputes.
    std::vector<schedule::action_times> action_times_of(const fit_choice& x);

    /// What does not depend on how gradients are synchronized.
    struct computation {
        struct of_stage {
            int home = 0;           ///< its worker
            index_t last = 0;       ///< ns: when its last micro-batch has gone backward
            index_t backward = 0;   ///< ns of one micro-batch
            index_t busy = 0;       ///< ns of all, forward and backward
            index_t parameters = 0; ///< bytes that each of its devices needs ...
            index_t slices = 0;     ///< ... and its share of them, if those that have the same share them out
            index_t largest = 0;    ///< bytes of one operator's
            index_t kept = 0, entry = 0;
            index_t working = 0; ///< an output and its gradient, of the operator that has the largest
        };
        std::vector<of_stage> stages;
        std::vector<index_t> most; ///< bytes of every worker's device, without parameters
        index_t ways = 0;          ///< ns from stage to stage and back
    };

    computation computation_of(const fit_choice& x);

    fit_guess operator()(const fit_choice& x) { return (*this)(x, computation_of(x)); }

    fit_guess operator()(const fit_choice& x, const computation& c);

    static std::vector<int> homes_of(const fit_choice& x);

private:
    /// The operators' times in every stage.
    std::vector<const operator_estimate*> tables_of(const fit_choice& x);

    const detail::policy_traits& traits(const schedule::policy_record* policy, int members);

    /// Devices that have the same parameters of a worker, where they are not split ...
    int copies_of(const fit_choice& x, int worker) const {
        return x.widths[to_size(worker)] * (x.order.mirrors() ? 2 : 1);
    }
    /// ... and those of an operator.
    static int shared_by(const operator_estimate& t, int copies) { return std::max(copies, t.parts) / t.parts; }

    /// Parameters, their gradients and the optimizer's state, on each of a stage's devices.
    index_t held(const fit_choice& x, const computation::of_stage& s, const detail::policy_traits& traits) const;
    static int first_of(const fit_choice& x, int worker);
    /// What the exchange of a stage's gradients and parameters, and their update, add after its last backward action. A
    /// sum that each member has a slice of and hands on sends 2(n-1)/n of the bytes of each; all messages but the last
    /// may hide behind backward.
    index_t synchronization(const fit_choice& x, const computation::of_stage& s, const detail::policy_traits& traits,
                            int messages) const;

    struct known_policy {
        const schedule::policy_record* policy = nullptr;
        int members = 0;
        detail::policy_traits traits;
    };

    const cluster& on_;
    graph_view g_;
    const fit_options& o_;
    fit_times times_;
    schedule::worker_speed speed_;
    std::vector<known_policy> policies_;
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/fit/estimate.inl"
#endif

#include "tessera/base/end_header.inl"
