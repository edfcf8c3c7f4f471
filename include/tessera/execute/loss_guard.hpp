// SPDX-License-Identifier: Apache-2.0
// A step whose loss is not a finite number changes nothing: who sees that, who has to know it, and what is put back.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/finite.hpp"
#include "tessera/execute/run_report.hpp"
#include "tessera/execute/store.hpp"
#include "tessera/plan/loss_rows.hpp"

#include <cmath>
#include <span>
#include <vector>

namespace tessera {

/// What a task has to do with losses.
enum class guarded_role : std::uint8_t {
    nothing,
    loss,   ///< writes rows of a loss
    change, ///< writes parameters, or takes part in compressing gradients (see residuals): waits for the losses of its step, and is left out where one is not finite
    early,  ///< writes a state before the losses are known (running statistics): what it overwrites is kept
};

/// The guard of one plan whose tiles lie in memory of the processor. A step's changes wait for all of its losses, which come before them in the
/// plan's order, and which nearly all of them depend on anyway: all devices then agree on whether there is a step. In a plan of several steps,
/// those before the first loss that is not finite are taken, that step and the later ones are not: parameters, the optimizer's state and running
/// statistics are then what they were before that step.
class loss_guard {
public:
    loss_guard() = default;
    loss_guard(const plan& p, const graph_view& g, const addresses& where)
        : tasks_(p.tasks.size()), losses_(static_cast<std::size_t>(p.period)) {
        if (p.kind != run_kind::training) {
            return;
        }
        int changed = -1; // the last step that a change has been met of
        for (std::size_t i = 0; i < p.tasks.size(); ++i) {
            const task& t = p.tasks[i];
            tasks_[i].role = role_of(p, g, t);
            if (tasks_[i].role == guarded_role::change) {
                changed = changed > t.step ? changed : t.step;
            } else if (tasks_[i].role == guarded_role::loss) {
                if (changed >= t.step) {
                    throw error("tessera: the plan changes a parameter before it knows a loss of that step, of " +
                                std::string(g.ops[t.op].name) + "; nothing in Tessera makes such a plan");
                }
                const int w = loss_rows_of(p, g, t);
                tasks_[i].rows = {reinterpret_cast<const float*>(where[w]),
                                  static_cast<std::size_t>(p.tiles[static_cast<std::size_t>(w)].elements)};
                add_loss(p, t);
            } else if (tasks_[i].role == guarded_role::early) {
                const auto bytes = static_cast<std::size_t>(p.tiles[static_cast<std::size_t>(t.writes[0])].bytes);
                tasks_[i].state = {where[t.writes[0]], bytes};
                tasks_[i].before.resize(bytes);
            }
        }
    }

    guarded_role role(int task) const { return at(task).role; }

    /// The points in the lists that a change of a step waits for. (Tasks of its own list have been before it.)
    const std::vector<wait_for>& losses(int step) const { return losses_[static_cast<std::size_t>(step)]; }

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
    void begin() {
        for (watched& w : tasks_) {
            w.step = run_report::none;
        }
    }
    /// After a run: puts back what steps that were refused have overwritten.
    void end(const run_report& report) {
        for (std::size_t i = tasks_.size(); i-- > 0;) { // the first of several that write one tile has what was there
            const watched& w = tasks_[i];
            if (w.role == guarded_role::early && w.step != run_report::none && report.refuses(w.step)) {
                std::memcpy(w.state.data(), w.before.data(), w.before.size());
            }
        }
    }

private:
    struct watched {
        guarded_role role = guarded_role::nothing;
        std::span<const float> rows{};
        std::span<std::byte> state{};
        std::vector<std::byte> before{};
        std::uint64_t step = run_report::none; ///< that it ran for
    };

    watched& at(int task) { return tasks_[static_cast<std::size_t>(task)]; }
    const watched& at(int task) const { return tasks_[static_cast<std::size_t>(task)]; }

    static guarded_role role_of(const plan& p, const graph_view& g, const task& t) {
        if (t.kind == task_kind::update || t.kind == task_kind::average || t.kind == task_kind::compress ||
            t.kind == task_kind::decompress) { // which reads codes that are then none
            return guarded_role::change;
        }
        if (t.kind != task_kind::compute) {
            return guarded_role::nothing;
        }
        if (t.what == pass::update) {
            return guarded_role::early;
        }
        return loss_rows_of(p, g, t) >= 0 ? guarded_role::loss : guarded_role::nothing;
    }

    void add_loss(const plan& p, const task& t) {
        std::vector<wait_for>& all = losses_[static_cast<std::size_t>(t.step)];
        for (wait_for& w : all) {
            if (w.list == p.list_of(t)) {
                w.count = t.position + 1 > w.count ? t.position + 1 : w.count;
                return;
            }
        }
        all.push_back({p.list_of(t), t.position + 1});
    }

    std::vector<watched> tasks_;
    std::vector<std::vector<wait_for>> losses_; ///< of every step of the plan
};

} // namespace tessera

#include "tessera/base/end_header.inl"
