// SPDX-License-Identifier: Apache-2.0
// Bodies of verifier.hpp: checks that a computation reads and writes the tiles that its operator's description asks
// for, and no others.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {

/// Every computation is one of its operator's, over loops that it has, on operands that are what it takes them for.
TESSERA_INLINE bool verifier::operands() {
    for (const task& t : p_.tasks) {
        if (t.kind() == task_kind::compute && !(t.what == pass::update ? running_is_sound(t)
                                                : is_backward(t.what)  ? gradients_are_sound(t)
                                                                       : values_are_sound(t))) {
            return false;
        }
    }
    return true;
}

/// Its nests and its ranges are ones that the operator has, in the samples of its micro-batch.
TESSERA_INLINE bool verifier::ranges_are_sound(const task& t) {
    const description& d = desc(t.op);
    if (t.compute().first_nest < 0 || t.compute().first_nest > t.compute().last_nest ||
        t.compute().last_nest >= d.nests.size()) {
        return refuse(&t, "a computation is of nests that its operator does not have");
    }
    const bool wanted = p_.kind == run_kind::training ? t.what != pass::evaluate : t.what == pass::evaluate;
    if (!wanted || d.facts.view) {
        return refuse(&t, "a computation is not one of this kind of plan, or has nothing to compute");
    }
    const int samples = d.find_loop(loop_name::sample);
    for (int l = 0; l < d.loops.size(); ++l) {
        const interval all = l == samples ? samples_of(t.micro_batch) : interval{0, d.loops[l].extent};
        if (t.compute().ranges[l].empty() || !all.contains(t.compute().ranges[l])) {
            return refuse(&t, "a computation goes beyond the loops of its operator, or the samples of its micro-batch");
        }
    }
    bool additive = false;
    for (const operand& o : d.operands) {
        additive = additive || o.additive;
    }
    if (additive && t.compute().first_part != is_first(t.op, t.compute().ranges)) {
        return refuse(&t, "what is added once is added by another part of a sum than the first, or not at all");
    }
    const int own = p_.replica_statistics ? statistics_loop(d) : -1;
    return t.what == pass::update || t.compute().samples == (own >= 0 ? t.compute().ranges[own].size() : 0) ||
           refuse(&t, "a computation takes statistics over another number of samples than it has");
}

/// What a tile holds is of the kind, the tensor and the step that a task takes it for, and has the region.
TESSERA_INLINE bool verifier::holds(int which, tile_kind kind, int tensor, const task& t, const box& region) const {
    const tile& x = p_.tiles[to_size(which)];
    const bool joint = is_joint(t.op) && (kind == tile_kind::intermediate || kind == tile_kind::intermediate_gradient);
    return x.kind == kind && x.tensor == tensor && x.step == t.step && x.slices == 1 &&
           x.micro_batch == (joint ? -1 : t.micro_batch) && x.region.contains(region) && x.region.rank == region.rank;
}

/// The parameter whose elements a tile holds, or a copy of them; -1: of none.
TESSERA_INLINE int verifier::parameter_in(const tile& x) const {
    if (x.origin >= 0) {
        return parameter_in(p_.tiles[to_size(x.origin)]);
    }
    if (x.kind == tile_kind::parameter) {
        return x.tensor;
    }
    if (x.kind != tile_kind::intermediate) {
        return -1;
    }
    const op_node& op = g_.ops[x.tensor / max_operands];
    const operand& o = desc(x.tensor / max_operands).operands[x.tensor % max_operands];
    return o.kind == operand_kind::parameter || o.kind == operand_kind::state ? op.parameters[o.slot] : -1;
}

/// A tile is what the same shard has made of its operator's output: its part of the sum.
TESSERA_INLINE bool verifier::is_own_part(int which, const task& t) const {
    const int loops = desc(t.op).loops.size();
    for (int way = 0; way < 2 && !waited_.empty() && waited_[to_size(which)] >= 0; ++way) { // out and in again
        which = waited_[to_size(which)];
    }
    for (const int i : tasks_of_[to_size(t.op)]) {
        const task& made = p_.tasks[to_size(i)];
        if (!is_backward(made.what) && made.kind() == task_kind::compute &&
            made.compute().value[desc(t.op).output()] == which) {
            bool same = true;
            for (int l = 0; l < loops; ++l) {
                same = same && made.compute().ranges[l] == t.compute().ranges[l];
            }
            return same;
        }
    }
    return false;
}

/// The tile of an operand's value is what the operator reads there.
TESSERA_INLINE bool verifier::value_is(const task& t, int o) {
    const operand& x = desc(t.op).operands[o];
    const int which = t.compute().value[o];
    const tile& held = p_.tiles[to_size(which)];
    const box region = tessera::region(desc(t.op), o, t.compute().ranges);
    bool right = held.device == t.device;
    switch (x.kind) {
    case operand_kind::input: {
        const int tensor = g_.ops[t.op].inputs[x.slot];
        const bool taken_in = held.kind == tile_kind::activation && held.tensor == tensor && held.summand < 0 &&
                              g_.tensors[tensor].producer < 0 && held.region.contains(region);
        right = right && (taken_in || holds(which, tile_kind::activation, tensor, t, region));
        break;
    }
    case operand_kind::parameter:
    case operand_kind::state:
        right = right && parameter_in(held) == g_.ops[t.op].parameters[x.slot] && held.slices == 1 &&
                (held.kind == tile_kind::parameter || held.step == t.step) && held.region.contains(region);
        break;
    case operand_kind::intermediate:
        right = right && holds(which, tile_kind::intermediate, t.op * max_operands + o, t, region) && is_complete(held);
        break;
    case operand_kind::output:
        right = right && holds(which, tile_kind::activation, g_.ops[t.op].output, t, region) &&
                (is_complete(held) || is_own_part(which, t));
        break;
    }
    return right || refuse(&t, "a computation reads something else than its operator's operand " + std::to_string(o) +
                                   ", or not all of it");
}

/// The part of partial inputs that a task passes on; -1: its inputs are complete. False where they are different parts,
/// or the operator is not linear in them.
TESSERA_INLINE bool verifier::part_read(const task& t, int& part) const {
    const description& d = desc(t.op);
    part = -1;
    for (int o = 0; o < d.operands.size(); ++o) {
        if (d.operands[o].kind == operand_kind::input && t.compute().value[o] >= 0 &&
            !is_complete(p_.tiles[to_size(t.compute().value[o])])) {
            part = p_.tiles[to_size(t.compute().value[o])].summand;
        }
    }
    for (int o = 0; o < d.operands.size() && part >= 0; ++o) {
        if (d.operands[o].kind != operand_kind::input || t.compute().value[o] < 0) {
            continue;
        }
        const tile& x = p_.tiles[to_size(t.compute().value[o])];
        if (!d.linear || (x.summand != part && !x.region.empty())) { // a concatenation may need nothing of an input
            return false;
        }
    }
    return true;
}

/// Forward, forward again, or an evaluation.
TESSERA_INLINE bool verifier::values_are_sound(const task& t) {
    if (!ranges_are_sound(t)) {
        return false;
    }
    const description& d = desc(t.op);
    std::uint32_t read = 0;
    std::uint32_t written = 0;
    for (int k = t.compute().first_nest; k <= t.compute().last_nest; ++k) {
        read |= d.nests[k].reads;
        written |= bit(d.nests[k].write);
    }
    if (t.what == pass::evaluate && d.has_running_state()) { // instead of the batch's
        read |= bit(d.running_state());
        read &= ~bit(d.find_operand(operand_kind::intermediate, 0));
    }
    read &= ~written;
    const bool in_its_own_way =
        t.compute().implementation != 0; // may do without a value, and without what lies between nests
    std::vector<int> reads;
    std::vector<int> writes;
    for (int o = 0; o < max_operands; ++o) {
        const bool touched = o < d.operands.size() && has(read | written, o);
        if (t.compute().gradient[o] >= 0 || (t.compute().value[o] >= 0 && !touched)) {
            return refuse(&t, "a computation has an operand that its operator does not read");
        }
        if (!touched) {
            continue;
        }
        if (t.compute().value[o] < 0) {
            if (in_its_own_way && d.operands[o].kind != operand_kind::output) {
                continue;
            }
            return refuse(&t, "a computation lacks the operand " + std::to_string(o));
        }
        if (has(read, o)) {
            reads.push_back(t.compute().value[o]);
            if (!value_is(t, o)) {
                return false;
            }
            continue;
        }
        writes.push_back(t.compute().value[o]);
        if (t.compute().turn > 0) { // it adds to what is there
            reads.push_back(t.compute().value[o]);
        }
        const bool is_output = d.operands[o].kind == operand_kind::output;
        const tile& x = p_.tiles[to_size(t.compute().value[o])];
        const box region = tessera::region(d, o, t.compute().ranges);
        if (!holds(t.compute().value[o], is_output ? tile_kind::activation : tile_kind::intermediate,
                   is_output ? g_.ops[t.op].output : t.op * max_operands + o, t, region) ||
            !(x.region == region) || x.summand < 0 || x.origin >= 0 ||
            (x.type != d.operands[o].type && !in_its_own_way)) {
            return refuse(&t, "an operator writes a region that is not its shard's, or another tensor");
        }
        for (int k = t.compute().first_nest; k <= t.compute().last_nest;
             ++k) { // what lies between them is not added up
            if (has(d.nests[k].reads, o) && !is_complete(x)) {
                return refuse(&t, "a computation goes on with a part of what other shards add to");
            }
        }
    }
    if (t.compute().turn >= 0 &&
        (!d.facts.merges || read == 0 || t.compute().first_nest != 0 || t.compute().last_nest + 1 != d.nests.size())) {
        return refuse(&t, "a computation takes a turn in a ring whose results cannot be merged");
    }
    int part = -1;
    if (!part_read(t, part)) {
        return refuse(&t, "a computation reads a part of a sum as if it were all of it");
    }
    return t.compute().emits == 0 && t.compute().running < 0 && lists_are(t, reads, writes) ? true : refuse_lists(t);
}

/// Backward.
TESSERA_INLINE bool verifier::gradients_are_sound(const task& t) {
    if (!ranges_are_sound(t)) {
        return false;
    }
    const description& d = desc(t.op);
    const bool weights = t.what == pass::backward_weight;
    std::uint32_t own = emitted(t.op, t.compute().first_nest, weights, t.compute().ranges);
    if (d.facts.joint_gradients && t.what == pass::backward) {
        own |= emitted(t.op, t.compute().first_nest, true, t.compute().ranges);
    }
    std::uint32_t all = 0;
    for (int k = 0; k < d.nests.size(); ++k) {
        all |= emitted(t.op, k, true, t.compute().ranges) | emitted(t.op, k, false, t.compute().ranges);
    }
    for (int o = 0; o < d.operands.size(); ++o) {
        all &= d.operands[o].kind == operand_kind::intermediate ? ~bit(o) : ~0U;
    }
    const bool in_its_own_way = t.compute().implementation != 0; // may make all gradients in one task
    if (has_gradient_[to_size(t.op)] == 0 || t.compute().emits == 0 ||
        t.compute().first_nest != t.compute().last_nest ||
        (t.compute().emits != own && !(in_its_own_way && t.compute().emits == all))) {
        return refuse(&t, "a computation makes other gradients than those of its nest");
    }
    std::uint32_t needed = 0;
    for (int o = 0; o < d.operands.size(); ++o) {
        needed |= has(t.compute().emits, o) ? d.operands[o].gradient_reads : 0;
    }
    std::vector<int> reads;
    std::vector<int> writes;
    for (int o = 0; o < max_operands; ++o) {
        if (t.compute().value[o] >= 0) {
            if (o >= d.operands.size() || (!has(needed, o) && !in_its_own_way)) {
                return refuse(&t, "a computation has an operand that its operator does not read");
            }
            reads.push_back(t.compute().value[o]);
            if (!value_is(t, o)) {
                return false;
            }
            if (d.operands[o].kind == operand_kind::input && !is_complete(p_.tiles[to_size(t.compute().value[o])])) {
                return refuse(&t, "a gradient is made of a part of a sum as if it were all of it");
            }
        } else if (o < d.operands.size() && has(needed, o) && !in_its_own_way) {
            return refuse(&t, "a computation lacks the operand " + std::to_string(o));
        }
        const bool flows = o < d.operands.size() && d.operands[o].kind == operand_kind::intermediate &&
                           d.operands[o].differentiable && has(needed, o) &&
                           gradient_nest(d, o) > t.compute().first_nest;
        const bool is_output = o == d.output() && !g_.is_loss(t.op);
        const bool made = o < d.operands.size() && has(t.compute().emits, o);
        if (t.compute().gradient[o] < 0) {
            if (made || is_output || (flows && !in_its_own_way)) {
                return refuse(&t, "a computation lacks the gradient of its operand " + std::to_string(o));
            }
            continue;
        }
        if (!made && !is_output && !flows) {
            return refuse(&t, "a computation has a gradient that its operator does not read");
        }
        (made ? writes : reads).push_back(t.compute().gradient[o]);
        if (made ? !gradient_made_is(t, o) : !gradient_read_is(t, o)) {
            return false;
        }
    }
    return t.compute().running < 0 && t.compute().turn < 0 && lists_are(t, reads, writes) ? true : refuse_lists(t);
}

TESSERA_INLINE bool verifier::gradient_read_is(const task& t, int o) {
    const bool is_output = o == desc(t.op).output();
    const box region = tessera::region(desc(t.op), o, t.compute().ranges);
    const tile& x = p_.tiles[to_size(t.compute().gradient[o])];
    return (x.device == t.device && is_complete(x) &&
            holds(t.compute().gradient[o], is_output ? tile_kind::gradient : tile_kind::intermediate_gradient,
                  is_output ? g_.ops[t.op].output : t.op * max_operands + o, t, region)) ||
           refuse(&t, "a computation reads another gradient than that of its operand " + std::to_string(o) +
                          ", or not all of it");
}

TESSERA_INLINE bool verifier::gradient_made_is(const task& t, int o) {
    const operand& x = desc(t.op).operands[o];
    const tile& made = p_.tiles[to_size(t.compute().gradient[o])];
    const box region = tessera::region(desc(t.op), o, t.compute().ranges);
    tile_kind kind = tile_kind::intermediate_gradient;
    int tensor = t.op * max_operands + o;
    if (x.kind == operand_kind::input) {
        kind = tile_kind::gradient;
        tensor = g_.ops[t.op].inputs[x.slot];
    } else if (x.kind == operand_kind::parameter) {
        kind = tile_kind::parameter_gradient;
        tensor = g_.ops[t.op].parameters[x.slot];
    }
    // Rows and columns that no window touches may be there too: their gradient is nothing.
    const bool whole = kind == tile_kind::gradient && is_seen_through_windows(desc(t.op), o) &&
                       made.region.dim[0] == region.dim[0] && made.region.dim[1] == region.dim[1];
    return (holds(t.compute().gradient[o], kind, tensor, t, region) && (made.region == region || whole) &&
            made.origin < 0 && (made.summand >= 0 || kind == tile_kind::parameter_gradient)) ||
           refuse(&t, "a computation makes the gradient of its operand " + std::to_string(o) +
                          " where that of another, or of another region, is");
}

/// Running statistics take those of all samples, or of the first replica; which, see sums() and replicas().
TESSERA_INLINE bool verifier::running_is_sound(const task& t) {
    const op_node& op = g_.ops[t.op];
    const description& d = desc(t.op);
    if (!d.has_running_state() || p_.kind != run_kind::training || t.compute().running < 0) {
        return refuse(&t, "an operator without running statistics updates them");
    }
    const int from = t.compute().value[d.find_operand(operand_kind::intermediate, 0)];
    const int state = d.running_state();
    const int to = t.compute().value[state];
    const tile& target = p_.tiles[to_size(t.compute().running)];
    const tile* source = from < 0 ? nullptr : &p_.tiles[to_size(from)];
    int own = 0;
    for (int o = 0; o < max_operands; ++o) {
        own += (t.compute().value[o] >= 0 ? 1 : 0) + (t.compute().gradient[o] >= 0 ? 1 : 0);
    }
    const bool summed = p_.micro_batches > 1;
    const bool right =
        source != nullptr && to == t.compute().running && target.kind == tile_kind::parameter && own == 2 &&
        target.tensor == op.parameters[d.operands[state].slot] && target.device == t.device &&
        source->kind == tile_kind::intermediate && source->device == t.device &&
        source->tensor == t.op * max_operands + d.find_operand(operand_kind::intermediate, 0) &&
        source->step == t.step && source->micro_batch == (summed ? -1 : 0) && is_complete(*source) &&
        target.region == region(d, state, t.compute().ranges) && source->region.contains(target.region) &&
        t.compute().emits == 0 && (p_.replica_statistics || t.compute().samples == 0);
    if (!right) {
        return refuse(&t, "running statistics follow something else than their operator's");
    }
    return lists_are(t, {from, t.compute().running}, {t.compute().running}) ? true : refuse_lists(t);
}

/// True for the shards that add what is added once: those that begin every loop that a nest sums over.
TESSERA_INLINE bool verifier::is_first(int op, const interval* ranges) const {
    for (const std::uint32_t reduced : reduced_[to_size(op)]) {
        for (int l = 0; l < desc(op).loops.size(); ++l) {
            if (has(reduced, l) && ranges[l].begin != 0) {
                return false;
            }
        }
    }
    return true;
}

/// The operands whose gradients a shard makes in nest `k`: those of parameters and intermediates, or those of inputs.
TESSERA_INLINE std::uint32_t verifier::emitted(int op, int k, bool weights, const interval* ranges) const {
    const description& d = desc(op);
    const wanted_gradients& of_nest = gradients_of_[to_size(op)][to_size(k)];
    const std::uint32_t wanted = weights ? of_nest.weights : of_nest.inputs;
    std::uint32_t mask = 0;
    for (int o = 0; o < d.operands.size(); ++o) {
        if (has(wanted, o) && (is_first(op, ranges) || !d.operands[o].additive) &&
            !tessera::region(d, o, ranges).empty()) {
            mask |= bit(o);
        }
    }
    return mask;
}

/// A task reads and writes what it says, and nothing else but what its backend adds.
TESSERA_INLINE bool verifier::lists_are(const task& t, std::vector<int> reads, std::vector<int> writes) const {
    if (t.compute().workspace >= 0) {
        (is_backward(t.what) ? reads : writes).push_back(t.compute().workspace);
    }
    const auto same = [](std::vector<int> a, std::vector<int>& b) {
        for (std::vector<int>* list : {&a, &b}) {
            std::sort(list->begin(), list->end());
            list->erase(std::unique(list->begin(), list->end()), list->end());
        }
        return a == b;
    };
    return same(t.reads, reads) && same(t.writes, writes);
}

TESSERA_INLINE bool verifier::refuse_lists(const task& t) {
    return refuse(&t, "a task touches tiles that it does not name, or names others");
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
