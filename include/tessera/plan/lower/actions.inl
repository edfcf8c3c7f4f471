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

TESSERA_INLINE std::vector<after_forward> results_after_forward(const lowering_input& in) {
    bool any = false;
    for (int op = 0; op < in.g.op_count; ++op) {
        any = any || (in.config(op).recompute && !in.g.is_loss(op)) || in.offloads(op);
    }
    std::vector<after_forward> all(any ? to_size(in.g.op_count) : 0, after_forward::kept);
    for (int op = 0; op < in.g.op_count && any; ++op) {
        const int producer = in.desc(op).facts.view ? in.g.tensors[in.g.ops[op].inputs[0]].producer : -1;
        const bool renames = producer >= 0 && in.config(producer).stage == in.config(op).stage &&
                             all[to_size(producer)] != after_forward::kept;
        all[to_size(op)] = in.g.is_loss(op)                     ? after_forward::kept
                           : in.config(op).recompute || renames ? after_forward::made_again
                           : in.offloads(op)                    ? after_forward::brought_back
                                                                : after_forward::kept;
    }
    return all;
}

TESSERA_INLINE void bring_back(const lowering_input& in, micro_batch_places& m, plan_writer& out, int op) {
    const int tensor = in.g.ops[op].output;
    located& where = m.values[to_size(tensor)];
    where.pieces.clear();
    m.gathered_values[to_size(tensor)].clear();
    for (const piece& p : m.waiting[to_size(tensor)]) {
        const int t = add_tile(out, tile_kind::activation, tensor, p.region, p.device, out[p.tile].type);
        out[t].summand = out[p.tile].summand;
        add_copy(out, op, pass::recompute, p.tile, t);
        where.pieces.push_back({p.region, p.device, p.summand, t});
    }
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

TESSERA_INLINE void made_again::want(int op) {
    std::vector<int> left{op}; // chains of a whole network are long
    while (!left.empty()) {
        const int x = left.back();
        left.pop_back();
        if (x < 0 || results[to_size(x)] == after_forward::kept || m.made_again[to_size(x)] != 0 ||
            in.config(x).stage != stage) {
            continue;
        }
        m.made_again[to_size(x)] = 1;
        wanted.push_back(x);
        if (results[to_size(x)] == after_forward::brought_back) {
            continue;
        }
        for (const int t : in.g.ops[x].inputs) {
            left.push_back(in.g.tensors[t].producer);
        }
    }
}

TESSERA_INLINE void made_again::want_for(int op) {
    const description& d = in.desc(op);
    std::uint32_t reads = 0;
    for (int o = 0; o < d.operands.size() && in.needs_gradient[to_size(in.g.ops[op].output)] != 0; ++o) {
        reads |= in.is_wanted(op, o) ? d.operands[o].gradient_reads : 0;
    }
    for (int o = 0; o < d.operands.size(); ++o) {
        const operand& x = d.operands[o];
        if (has(reads, o) && (x.kind == operand_kind::output || x.kind == operand_kind::intermediate)) {
            want(op);
        } else if (has(reads, o) && x.kind == operand_kind::input) {
            want(in.g.tensors[in.g.ops[op].inputs[x.slot]].producer);
        }
    }
}

TESSERA_INLINE bool recompute(network_lowering& x, micro_batch_places& m, int stage, std::span<const int> of) {
    if (x.results.empty() || (x.in.s.schedule != nullptr && x.in.s.schedule->keeps_results(m.number))) {
        return false;
    }
    made_again again{x.in, x.results, m, stage};
    for (const int op : of) {
        again.want_for(op);
    }
    std::sort(again.wanted.begin(), again.wanted.end());
    for (const int op : again.wanted) {
        if (x.results[to_size(op)] == after_forward::brought_back) {
            bring_back(x.in, m, x.out, op);
            continue;
        }
        forget_results(x.in, m, op);
        forward(x.in, x.net, m, x.out, op, true);
    }
    return !again.wanted.empty();
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
    const auto made_again = [&](int op) {
        bool any = false;
        each([&](micro_batch_places& m) { any = recompute(x, m, now.stage, {&op, 1}) || any; });
        return any;
    };
    recompute_while_waiting(x, ops, made_again);
    for (std::size_t i = ops.size(); i-- > 0;) {
        const int op = ops[i];
        made_again(op);
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
    if (now.what == action_kind::recompute) { // of the whole stage, as the schedule says so
        recompute(x, m, now.stage, ops);
        return;
    }
    recompute_while_waiting(x, ops, [&](int op) { return recompute(x, m, now.stage, {&op, 1}); });
    const backward_part part = now.what == action_kind::backward_input    ? backward_part::input
                               : now.what == action_kind::backward_weight ? backward_part::weight
                                                                          : backward_part::all;
    for (std::size_t i = ops.size(); i-- > 0;) {
        recompute(x, m, now.stage, {&ops[i], 1});
        backward_and_finish(x.in, x.net, m, x.sync, x.out, ops[i], part);
    }
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
