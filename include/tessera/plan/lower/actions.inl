// SPDX-License-Identifier: Apache-2.0
// Bodies of actions.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/actions.hpp"

namespace tessera::lowering {

TESSERA_INLINE void backward_and_finish(const lowering_input& in, network_places& net, micro_batch_places& m,
                                        synchronization_places& sync, plan_writer& out, int op, backward_part part) {
    backward(in, net, m, out, op, part);
    if (part != backward_part::input) {
        finish_parameters(in, net, sync, out, op);
    }
}

TESSERA_INLINE bool is_read_backward(const lowering_input& in, const std::vector<int>& stage, int op,
                                     const std::vector<char>& again) {
    const auto reads = [&](int by, int operand) {
        const bool needed = in.needs_gradient[to_size(in.g.ops[by].output)] != 0;
        for (int o = 0; o < in.desc(by).operands.size() && needed; ++o) {
            if (in.is_wanted(by, o) && has(in.desc(by).operands[o].gradient_reads, operand)) {
                return true;
            }
        }
        return false;
    };
    for (int o = 0; o < in.desc(op).operands.size(); ++o) {
        const operand_kind k = in.desc(op).operands[o].kind;
        if ((k == operand_kind::output || k == operand_kind::intermediate) && reads(op, o)) {
            return true;
        }
    }
    for (int c : stage) {
        for (int o = 0; o < in.desc(c).operands.size(); ++o) {
            const operand& x = in.desc(c).operands[o];
            if (x.kind == operand_kind::input && in.g.ops[c].inputs[x.slot] == in.g.ops[op].output &&
                (again[to_size(c)] != 0 || reads(c, o))) {
                return true;
            }
        }
    }
    return false;
}

TESSERA_INLINE void forget_results(const lowering_input& in, micro_batch_places& m, int op) {
    m.values[to_size(in.g.ops[op].output)] = {};
    m.gathered_values[to_size(in.g.ops[op].output)].clear();
    for (auto& [key, states] : m.intermediates) {
        for (std::size_t i = 0; i < states.size() && key / max_operands == op; ++i) {
            states[i].values = {};
        }
    }
}

TESSERA_INLINE void recompute(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out,
                              const action_order& order, int stage) {
    if (m.recomputed[to_size(stage)] != 0) {
        return;
    }
    m.recomputed[to_size(stage)] = 1;
    if (in.s.schedule != nullptr && in.s.schedule->keeps_results(m.number)) {
        return;
    }
    const std::vector<int>& ops = order.stages[to_size(stage)];
    std::vector<char> again(to_size(in.g.op_count), 0);
    for (std::size_t i = ops.size(); i-- > 0;) {
        const int op = ops[i];
        const int producer = in.g.tensors[in.g.ops[op].inputs[0]].producer;
        const bool renames = in.g.facts(op).view && producer >= 0;
        const bool says = in.config(op).recompute || (renames && in.config(producer).recompute);
        again[to_size(op)] = says && !in.g.is_loss(op) && is_read_backward(in, ops, op, again) ? 1 : 0;
    }
    for (int op : ops) {
        if (again[to_size(op)] != 0) { // statistics over all micro-batches stay
            forget_results(in, m, op);
            forward(in, net, m, out, op, true);
        }
    }
}

TESSERA_INLINE void perform_jointly(network_lowering& x, const action& now) {
    const auto each = [&](const auto& work) {
        for (const int m : x.together) {
            work(select(x.all, x.out, m));
        }
    };
    const std::vector<int>& ops = x.order.stages[to_size(now.stage)];
    for (std::size_t i = 0; i < ops.size() && now.what == action_kind::forward; ++i) {
        const int op = ops[i];
        if (x.in.is_joint(op)) {
            const int last = x.in.desc(op).nests.size() - 2;
            each([&](micro_batch_places& m) { forward_nests(x.in, x.net, m, x.out, op, 0, last, pass::forward); });
            each([&](micro_batch_places& m) { forward(x.in, x.net, m, x.out, op); });
            update_running(x.in, x.net, x.all, x.out, op);
        } else {
            each([&](micro_batch_places&) { forward_and_follow(x.in, x.net, x.all, x.out, op); });
        }
    }
    if (now.what != action_kind::backward) {
        return;
    }
    each([&](micro_batch_places& m) { recompute(x.in, x.net, m, x.out, x.order, now.stage); });
    for (std::size_t i = ops.size(); i-- > 0;) {
        const int op = ops[i];
        if (!x.in.is_joint(op)) {
            each([&](micro_batch_places& m) { backward_and_finish(x.in, x.net, m, x.sync, x.out, op); });
            continue;
        }
        for (int k = x.in.desc(op).nests.size() - 1; k >= 0; --k) {
            each([&](micro_batch_places& m) {
                if (has_gradient(x.in, m, op)) {
                    backward_nests(x.in, x.net, m, x.out, op, k, backward_part::all);
                }
            });
        }
        each([&](micro_batch_places&) { finish_parameters(x.in, x.net, x.sync, x.out, op); });
    }
}

TESSERA_INLINE void perform(network_lowering& x, const action& now) {
    micro_batch_places& m = select(x.all, x.out, now.micro_batch);
    const std::vector<int>& ops = x.order.stages[to_size(now.stage)];
    bool joint = false;
    for (int op : ops) {
        joint = joint || x.in.is_joint(op);
    }
    if (joint && now.what != action_kind::recompute) {
        x.together.push_back(now.micro_batch);
        if (static_cast<int>(x.together.size()) == x.order.sweeps) {
            perform_jointly(x, now);
            x.together.clear();
        }
        return;
    }
    if (now.what == action_kind::forward) {
        for (int op : ops) {
            forward_and_follow(x.in, x.net, x.all, x.out, op);
        }
        return;
    }
    recompute(x.in, x.net, m, x.out, x.order, now.stage);
    const backward_part part = now.what == action_kind::backward_input    ? backward_part::input
                               : now.what == action_kind::backward_weight ? backward_part::weight
                                                                          : backward_part::all;
    for (std::size_t i = ops.size(); i-- > 0 && now.what != action_kind::recompute;) {
        backward_and_finish(x.in, x.net, m, x.sync, x.out, ops[i], part);
    }
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
