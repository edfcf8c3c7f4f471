// SPDX-License-Identifier: Apache-2.0
// Bodies of build.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/build.hpp"

#include "tessera/base/stable_sort.hpp"

namespace tessera::torch::detail {

TESSERA_INLINE program builder::make() {
    for (int t = 0; t < g_.tensor_count; ++t) {
        if (g_.tensors[t].producer < 0) {
            const bool counts = g_.tensors[t].type == element::i32;
            out_.inputs.push_back({std::string(g_.tensors[t].name), g_.tensors[t].extents,
                                   counts ? element::i32 : element::f32, counts ? g_.integers_in(t) : 0});
        }
    }
    for (int op = 0; op < g_.op_count; ++op) {
        if (only_planned(g_.ops[op].attributes.math)) {
            refuse(op, std::string("it computes in ") + to_text(g_.ops[op].attributes.math) +
                           ", which is planned for alone; export the network in bf16");
        }
        if (s_.ops[op].recompute) {
            out_.recomputes[to_size(stage_of(op))] = 1;
        }
        bring_inputs(op);
        hand_over_inputs(op);
        g_.facts(op).view ? view_lines(op) : compute_lines(op);
        if (g_.is_loss(op)) {
            loss_lines(op);
        }
    }
    refuse_clipping();
    add_buckets();
    add_gathers();
    add_actions();
    if (!refused_.empty()) {
        throw error(refusal_text(refused_));
    }
    return std::move(out_);
}

TESSERA_INLINE shard_text builder::text_of_shard(int op, const task& t, int number) {
    shard_text s;
    s.g = &g_;
    s.op = op;
    s.d = &in_.desc(op);
    s.ranges = t.compute().ranges;
    s.first_part = t.compute().first_part;
    s.samples = t.compute().samples > 0 ? t.compute().samples : out_.batch / out_.micro_batches;
    s.micro_batches = out_.micro_batches;
    s.name = names_[to_size(op)];
    s.number = number;
    s.out = numbered(s.name, number);
    for (int o = 0; o < s.d->operands.size(); ++o) {
        const operand& x = s.d->operands[o];
        s.region.push_back(t.compute().value[o] >= 0 ? tile_at(t.compute().value[o]).region
                                                     : region(*s.d, o, t.compute().ranges));
        s.value.push_back(x.kind == operand_kind::parameter && t.compute().value[o] >= 0
                              ? taken_parameter(op, parameter_text(t.compute().value[o]))
                          : t.compute().value[o] >= 0 && x.kind != operand_kind::state
                              ? value(stage_of(op), t.compute().value[o])
                              : std::string());
    }
    return s;
}

TESSERA_INLINE void builder::refuse(int op, const std::string& why) {
    const std::string line = paths_.op(op) + ", a " + to_text(g_.ops[op].attributes.kind) + ": " + why;
    if (std::find(refused_.begin(), refused_.end(), line) == refused_.end()) {
        refused_.push_back(line);
    }
}

TESSERA_INLINE std::string builder::taken_parameter(int op, const std::string& text) const {
    const op_attributes& a = g_.ops[op].attributes;
    return a.math == precision::bf16 && takes_rounded_parameters(a) ? "rt.bf16_weight(" + text + ")" : text;
}

TESSERA_INLINE void builder::add_operator(int op, shard_text& s, int rank, int output) {
    std::string why = "it cannot be written";
    const std::string text = row_of(s.attributes()).line(s, why);
    text.empty() ? refuse(op, why) : add_lines(stage_of(op), rank, text);
    values_[to_size(stage_of(op))][output] = g_.facts(op).view ? s.out : stored(stage_of(op), rank, s.out, output);
}

TESSERA_INLINE void builder::view_lines(int op) {
    std::vector<int> counts(to_size(out_.ranks), 0);
    for (const int v : tables_.views[to_size(op)]) {
        const tile& made = tile_at(v);
        task t; // of which a view has none
        t.device = made.device;
        const int input = in_.desc(op).find_operand(operand_kind::input, 0);
        t.mutable_compute().value[input] = made.alias;
        t.mutable_compute().value[in_.desc(op).output()] = v;
        shard_text s = text_of_shard(op, t, counts[to_size(made.device)]++);
        add_operator(op, s, made.device, v);
    }
}

TESSERA_INLINE void builder::compute_lines(int op) {
    const description& d = in_.desc(op);
    const std::vector<int>& all = tables_.computes[to_size(op)];
    if (!all.empty() && plan_.tasks[to_size(all[0])].compute().turn >= 0) {
        refuse(op, "its keys go round a ring");
        return;
    }
    if (!all.empty() && plan_.tasks[to_size(all[0])].compute().last_nest + 1 == d.nests.size() &&
        plan_.tasks[to_size(all[0])].compute().first_nest == 0) {
        std::vector<int> counts(to_size(out_.ranks), 0);
        for (const int c : all) {
            const task& t = plan_.tasks[to_size(c)];
            shard_text s = text_of_shard(op, t, counts[to_size(t.device)]++);
            take_state(op, t, s);
            add_dropout(op, t, s);
            add_operator(op, s, t.device, t.compute().value[d.output()]);
        }
        return;
    }
    if (row_of(g_.ops[op].attributes).nest == nullptr) {
        refuse(op, "it is split along a loop that its shards reduce together");
        return;
    }
    for (int k = 0; k < d.nests.size(); ++k) {
        nest_lines(op, k);
    }
}

TESSERA_INLINE void builder::take_state(int op, const task& t, shard_text& s) {
    const int running = s.d->running_state();
    if (running >= 0 && (t.compute().samples == 0 || is_first_replica(op, t))) {
        s.value[to_size(running)] = state_text(op, running, t);
    }
}

TESSERA_INLINE void builder::add_dropout(int op, const task& t, const shard_text& s) {
    const auto& dropped_by = row_of(s.attributes()).dropped;
    const dropped_numbers x = dropped_by != nullptr ? dropped_by(s) : dropped_numbers{};
    if (*x.unit == 0) {
        return;
    }
    if (out_.dropouts.empty() || out_.dropouts.back().name != s.name) {
        out_.dropouts.push_back({s.name, g_.number_of(op), x.percent, x.unit, x.extents, {}});
    }
    out_.dropouts.back().shards.push_back({t.device, x.region, t.compute().value[s.d->output()]});
}

TESSERA_INLINE void builder::nest_lines(int op, int k) {
    const description& d = in_.desc(op);
    const int stage = stage_of(op);
    const int made = d.nests[k].write;
    const bool last = k + 1 == d.nests.size();
    std::vector<int> counts(to_size(out_.ranks), 0);
    std::vector<piece> pieces;
    for (const int c : tables_.computes[to_size(op)]) {
        const task& t = plan_.tasks[to_size(c)];
        if (t.compute().first_nest != k) {
            continue;
        }
        shard_text s = text_of_shard(op, t, counts[to_size(t.device)]++);
        if (last) {
            take_state(op, t, s);
            add_dropout(op, t, s);
        }
        const std::string name = last ? s.out : derived(s.out, "nest" + std::to_string(k));
        std::string why;
        const std::string line = joined({name, " = ", row_of(s.attributes()).nest(s, k, why)});
        why.empty() ? add_lines(stage, t.device, line) : refuse(op, why);
        values_[to_size(stage)][t.compute().value[made]] =
            last ? stored(stage, t.device, name, t.compute().value[made]) : name;
        pieces.push_back({tile_at(t.compute().value[made]).region, t.device, tile_at(t.compute().value[made]).summand,
                          t.compute().value[made]});
    }
    if (!last) {
        exchange_intermediates(op, k, pieces);
    }
}

TESSERA_INLINE void builder::exchange_intermediates(int op, int k, const std::vector<piece>& pieces) {
    const description& d = in_.desc(op);
    const int made = d.nests[k].write;
    exchange_table x;
    x.name = names_[to_size(op)] + ".nest" + std::to_string(k);
    x.from_stage = x.to_stage = stage_of(op);
    x.largest = d.nests[k].reduce == reducer::max;
    x.differentiable =
        (d.operands[made].differentiable || g_.is_loss(op)) && !x.largest && carries_gradient(g_.ops[op].output);
    for (const int c : tables_.computes[to_size(op)]) {
        const task& t = plan_.tasks[to_size(c)];
        const int needed = t.compute().value[made];
        if (t.compute().first_nest <= k || needed < 0 || !value(x.to_stage, needed).empty()) {
            continue;
        }
        const std::size_t before = x.targets.size();
        const int to = place(x.targets, {t.device, tile_at(needed).region, needed});
        if (x.targets.size() == before) {
            continue;
        }
        std::vector<piece> own;
        for (const piece& p : pieces) {
            if (tile_at(p.tile).replica == tile_at(needed).replica) {
                own.push_back(p);
            }
        }
        for (const segment& seg : copy_recipe_for(own, tile_at(needed).region, t.device, t.device).segments) {
            const piece& from = own[to_size(seg.source)];
            x.moves.push_back({place(x.sources, {from.device, from.region, from.tile}), to, seg.region});
        }
    }
    if (!x.targets.empty()) {
        emit(x);
    }
}

TESSERA_INLINE void builder::loss_lines(int op) {
    const int tensor = g_.ops[op].output;
    const double factor =
        g_.ops[op].attributes.weight / loss_divisor(g_.ops[op].attributes, g_.tensors[tensor].extents);
    std::vector<std::pair<box, int>> seen;
    for (const result_piece& x : plan_.results) {
        const tile& t = tile_at(x.tile);
        const std::pair<box, int> key{t.region, x.summand};
        if (x.tensor == tensor && t.micro_batch == 0 && std::find(seen.begin(), seen.end(), key) == seen.end()) {
            seen.push_back(key);
            add_lines(stage_of(op), t.device, "r.loss(" + value(stage_of(op), x.tile) + ", " + text_of(factor) + ")");
        }
    }
}

TESSERA_INLINE void builder::refuse_clipping() {
    for (const parameter_table& p : out_.parameters) {
        bool apart = false;
        for (const located_tile& a : p.homes) {
            for (const located_tile& b : p.homes) {
                apart = apart || (!(a.region == b.region) && !intersect(a.region, b.region).empty());
            }
        }
        if (apart && p.trained && out_.update.clip_norm > 0) {
            refused_.push_back("gradients are clipped by their norm, and the users of " + p.name +
                               " split it differently");
        }
    }
}

TESSERA_INLINE void builder::add_buckets() {
    if (s_.sync == nullptr || s_.sync->messages.empty()) {
        for (int p = g_.parameter_count - 1; p >= 0; --p) { // the last layers' are ready first
            if (out_.parameters[to_size(p)].trained) {
                out_.buckets.push_back({to_text(exchange::sliced), 0, {{out_.parameters[to_size(p)].name, 0, 1}}});
            }
        }
        return;
    }
    std::vector<const message*> order;
    for (const message& m : s_.sync->messages) {
        order.push_back(&m);
    }
    if (s_.sync->urgent_first) { // all are ready when the program sends them: those that forward needs first go first
        tessera::detail::stable_sort(
            order, [&](const message* a, const message* b) { return first_user_of(*a) < first_user_of(*b); });
    }
    for (const message* m : order) {
        bucket_table b{to_text(m->method), m->server, {}};
        for (const gradient_slice& x : m->slices) {
            b.parts.push_back({out_.parameters[to_size(x.parameter)].name, x.slice, x.slices});
        }
        out_.buckets.push_back(std::move(b));
    }
}

TESSERA_INLINE int builder::first_user_of(const message& m) const {
    int first = g_.op_count;
    for (const gradient_slice& x : m.slices) {
        for (int op = g_.op_count - 1; op >= 0; --op) {
            const auto& own = g_.ops[op].parameters;
            first = std::find(own.begin(), own.end(), x.parameter) != own.end() ? std::min(first, op) : first;
        }
    }
    return first;
}

TESSERA_INLINE void builder::add_gathers() {
    if (s_.sync == nullptr || !s_.sync->shards_parameters) {
        return;
    }
    out_.gathers.resize(out_.stages.size());
    for (int op = 0; op < g_.op_count; ++op) {
        for (const int p : g_.ops[op].parameters) {
            std::vector<std::string>& names = out_.gathers[to_size(stage_of(op))];
            const parameter_table& x = out_.parameters[to_size(p)];
            if (x.trained && std::find(names.begin(), names.end(), x.name) == names.end()) {
                names.push_back(x.name);
            }
        }
    }
}

TESSERA_INLINE void builder::add_actions() {
    if (s_.schedule == nullptr) {
        for (int m = 0; m < out_.micro_batches; ++m) {
            out_.actions.push_back({0, m, action_kind::forward});
            out_.actions.push_back({0, m, action_kind::backward});
        }
        return;
    }
    for (const action& a : lowering::arrange(in_).actions) {
        if (a.what != action_kind::recompute) {
            out_.actions.push_back(a);
        }
    }
}

} // namespace tessera::torch::detail

namespace tessera::torch {

TESSERA_INLINE program make_program(const graph_view& g, const strategy_view& s, int devices, const optimizer& update) {
    require(update, g);
    require(g, s, devices);
    const std::vector<std::string> all = refusals(g, s, update);
    if (!all.empty()) {
        throw error(refusal_text(all));
    }
    return detail::builder(g, s, devices, update).make();
}

} // namespace tessera::torch

#include "tessera/base/end_header.inl"
