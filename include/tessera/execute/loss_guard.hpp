// SPDX-License-Identifier: Apache-2.0
// A step whose loss is not a finite number changes nothing: who sees that, who has to know it, and what is put back.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/finite.hpp"
#include "tessera/execute/local/run_report.hpp"
#include "tessera/execute/local/store.hpp"
#include "tessera/plan/loss_rows.hpp"

#include <cmath>
#include <span>
#include <vector>

namespace tessera {

/// What a task has to do with losses.
enum class guarded_role : std::uint8_t {
    nothing,
    loss, ///< writes rows of a loss
    /// writes parameters, or takes part in compressing gradients (see residuals): waits for the losses of its step, and
    /// is left out where one is not finite
    change,
    early, ///< writes a state before the losses are known (running statistics): what it overwrites is kept
};

/// The guard of one plan whose tiles lie in memory of the processor. A step's changes wait for all of its losses, which
/// come before them in the plan's order, and which nearly all of them depend on anyway: all devices then agree on
/// whether there is a step. In a plan of several steps, those before the first loss that is not finite are taken, that
/// step and the later ones are not: parameters, the optimizer's state and running statistics are then what they were
/// before that step.
class loss_guard {
public:
    loss_guard() = default;
    loss_guard(const plan& p, const graph_view& g, const addresses& where);

    guarded_role role(int task) const { return at(task).role; }

    /// The points in the lists that a change of a step waits for. (Tasks of its own list have been before it.)
    const std::vector<wait_for>& losses(int step) const { return losses_[to_size(step)]; }

    /// Runs a task that has a role, after what it waits for.
    template <class Run>
    void call(int task, const run_state& run, Run&& body) {
        watched& w = at(task);
        if (w.role != guarded_role::loss && run.report->refuses(run.step)) {
            return;
        }
        if (w.role == guarded_role::early) {
            std::memcpy(w.before.data(), w.state.data(), w.state.size());
            w.step = run.step;
        }
        body();
        for (const float x : w.rows) {
            if (!is_finite(x)) {
                run.report->refuse(run.step);
            }
        }
    }

    /// Before a run.
    void begin();
    /// After a run: puts back what steps that were refused have overwritten.
    void end(const run_report& report);

private:
    struct watched {
        guarded_role role = guarded_role::nothing;
        std::span<const float> rows{};
        std::span<std::byte> state{};
        std::vector<std::byte> before{};
        std::uint64_t step = run_report::none; ///< that it ran for
    };

    watched& at(int task) { return tasks_[to_size(task)]; }
    const watched& at(int task) const { return tasks_[to_size(task)]; }

    static guarded_role role_of(const plan& p, const graph_view& g, const task& t);

    void add_loss(const plan& p, const task& t);

    std::vector<watched> tasks_;
    std::vector<std::vector<wait_for>> losses_; ///< of every step of the plan
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/loss_guard.inl"
#endif

#include "tessera/base/end_header.inl"
