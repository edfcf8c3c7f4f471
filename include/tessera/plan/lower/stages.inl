// SPDX-License-Identifier: Apache-2.0
// Bodies of stages.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/stages.hpp"

namespace tessera::lowering {

TESSERA_INLINE std::vector<std::vector<int>> stages_after(const lowering_input& in, std::size_t stages) {
    std::vector<std::vector<int>> after(stages);
    for (int op = 0; op < in.g.op_count; ++op) {
        for (int t : in.g.ops[op].inputs) {
            const int producer = in.g.tensors[t].producer;
            if (producer < 0 || in.config(producer).stage == in.config(op).stage) {
                continue;
            }
            std::vector<int>& list = after[to_size(in.config(producer).stage)];
            bool known = false;
            for (int i : list) {
                known = known || i == in.config(op).stage;
            }
            if (!known) {
                list.push_back(in.config(op).stage);
            }
        }
    }
    return after;
}

TESSERA_INLINE std::vector<action> all_actions(const lowering_input& in, int stages) {
    std::vector<action> all;
    if (in.s.schedule != nullptr) {
        const std::vector<std::vector<int>> after = stages_after(in, to_size(stages));
        for (const schedule::timetable::entry& e :
             schedule::timetable_of(*in.s.schedule, {schedule::action_times{}}, after).actions) {
            all.push_back(e.what);
        }
        return all;
    }
    for (int m = 0; m < in.s.micro_batches; ++m) {
        for (int i = 0; i < stages; ++i) {
            all.push_back({i, m, action_kind::forward});
        }
        for (int i = stages - 1; i >= 0; --i) {
            all.push_back({i, m, action_kind::backward});
        }
    }
    return all;
}

TESSERA_INLINE std::vector<action> joint_actions(const std::vector<action>& all, int stages) {
    std::vector<action> joint;
    for (int k = 0; k < 2 * stages; ++k) {
        const int stage = k < stages ? k : 2 * stages - 1 - k;
        for (const action& x : all) {
            if (x.stage == stage && (x.what == action_kind::forward) == (k < stages)) {
                joint.push_back(x);
            }
        }
    }
    return joint;
}

TESSERA_INLINE action_order arrange(const lowering_input& in) {
    action_order order;
    for (int op = 0; op < in.g.op_count; ++op) {
        const std::size_t stage = to_size(in.config(op).stage);
        order.stages.resize(order.stages.size() > stage ? order.stages.size() : stage + 1);
        order.stages[stage].push_back(op);
    }
    const int stages = static_cast<int>(order.stages.size());
    std::vector<action> all = all_actions(in, stages);
    if (in.joint_statistics) {
        all = joint_actions(all, stages);
    }
    order.sweeps = 0;
    for (int m = 0; m < in.s.micro_batches; ++m) {
        order.sweeps += in.samples_of(m).empty() ? 0 : 1;
    }
    for (const action& x : all) { // a short batch may leave micro-batches without samples
        const bool wanted = in.for_training() || x.what == action_kind::forward;
        if (wanted && !in.samples_of(x.micro_batch).empty()) {
            order.actions.push_back(x);
        }
    }
    return order;
}

TESSERA_INLINE std::size_t actions_until_losses(const lowering_input& in, const action_order& order) {
    std::size_t until = 0;
    for (std::size_t i = 0; i < order.actions.size(); ++i) {
        for (const int op : order.stages[to_size(order.actions[i].stage)]) {
            until = order.actions[i].what == action_kind::forward && in.g.is_loss(op) ? i + 1 : until;
        }
    }
    return until;
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
