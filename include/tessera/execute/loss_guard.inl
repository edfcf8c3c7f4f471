// SPDX-License-Identifier: Apache-2.0
// Bodies of loss_guard.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/loss_guard.hpp"

namespace tessera {

TESSERA_INLINE loss_guard::loss_guard(const plan& p, const graph_view& g, const addresses& where)
    : tasks_(p.tasks.size()), losses_(to_size(p.steps_per_plan)) {
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
            tasks_[i].rows = {reinterpret_cast<const float*>(where[w]), to_size(p.tiles[to_size(w)].elements)};
            add_loss(p, t);
        } else if (tasks_[i].role == guarded_role::early) {
            const auto bytes = to_size(p.tiles[to_size(t.writes[0])].bytes);
            tasks_[i].state = {where[t.writes[0]], bytes};
            tasks_[i].before.resize(bytes);
        }
    }
}

TESSERA_INLINE void loss_guard::begin() {
    for (watched& w : tasks_) {
        w.step = run_report::none;
    }
}

TESSERA_INLINE void loss_guard::end(const run_report& report) {
    for (std::size_t i = tasks_.size(); i-- > 0;) { // the first of several that write one tile has what was there
        const watched& w = tasks_[i];
        if (w.role == guarded_role::early && w.step != run_report::none && report.refuses(w.step)) {
            std::memcpy(w.state.data(), w.before.data(), w.before.size());
        }
    }
}

TESSERA_INLINE guarded_role loss_guard::role_of(const plan& p, const graph_view& g, const task& t) {
    if (t.kind() == task_kind::update || t.kind() == task_kind::average || t.kind() == task_kind::compress ||
        t.kind() == task_kind::decompress) { // which reads codes that are then none
        return guarded_role::change;
    }
    if (t.kind() != task_kind::compute) {
        return guarded_role::nothing;
    }
    if (t.what == pass::update) {
        return guarded_role::early;
    }
    return loss_rows_of(p, g, t) >= 0 ? guarded_role::loss : guarded_role::nothing;
}

TESSERA_INLINE void loss_guard::add_loss(const plan& p, const task& t) {
    std::vector<wait_for>& all = losses_[to_size(t.step)];
    for (wait_for& w : all) {
        if (w.list == p.list_of(t)) {
            w.count = t.position + 1 > w.count ? t.position + 1 : w.count;
            return;
        }
    }
    all.push_back({p.list_of(t), t.position + 1});
}

} // namespace tessera

#include "tessera/base/end_header.inl"
