// SPDX-License-Identifier: Apache-2.0
// Bodies of verifier.hpp: checks of what a plan makes: outputs, updates, collectives; and that it fits in memory.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {

/// What is to be read after the run lies where the plan says, whole, and nothing overwrites it: losses, in an
/// evaluation what goes into them, what a network without a loss is run for, and gradients where they are kept.
TESSERA_INLINE bool verifier::results() {
    std::vector<char> listed(p_.tiles.size(), 0);
    for (const std::vector<result_piece>* list : {&p_.results, &p_.gradients}) {
        for (const result_piece& r : *list) {
            const bool exists =
                r.tile >= 0 && to_size(r.tile) < p_.tiles.size() && r.step >= 0 && r.step < p_.steps_per_plan;
            const tile* x = exists ? &p_.tiles[to_size(r.tile)] : nullptr;
            const bool of_parameter = list == &p_.gradients;
            const bool right = exists && x->device >= 0 && x->tensor == r.tensor &&
                               std::max(x->summand, 0) == r.summand &&
                               (x->step == r.step || (!of_parameter && g_.tensors[r.tensor].producer < 0)) && x->keep &&
                               p_.tiles[to_size(p_.root(r.tile))].keep && x->slices == 1 &&
                               !history_[to_size(p_.root(r.tile))].empty();
            const bool kind =
                right && (of_parameter ? x->kind == tile_kind::parameter_gradient && x->summand >= 0
                                       : x->kind == tile_kind::activation || x->kind == tile_kind::gradient);
            if (!kind) {
                return refuse(nullptr, "a result of tensor " + std::to_string(r.tensor) +
                                           " is listed where it is not, or not kept until the run has ended");
            }
            listed[to_size(r.tile)] = 1;
        }
    }
    for (int step = 0; step < p_.steps_per_plan; ++step) {
        for (int op = 0; op < g_.op_count; ++op) {
            const bool loss = g_.is_loss(op);
            const bool last = p_.output_gradient >= 0 && op + 1 == g_.op_count;
            const int in = g_.ops[op].inputs[0];
            if (((loss || last) && !lists_all(g_.ops[op].output, tile_kind::activation, step)) ||
                (loss && p_.kind == run_kind::evaluation && !lists_all(in, tile_kind::activation, step))) {
                return refuse(nullptr, "a result of operator " + path_of(g_, op) + " is not listed whole");
            }
            for (const int t : g_.ops[op].inputs) { // whoever hands in a gradient takes those of the inputs
                if (p_.output_gradient >= 0 && op == 0 && !lists_all(t, tile_kind::gradient, step)) {
                    return refuse(nullptr, "a gradient of an input of operator " + path_of(g_, op) + " is not listed");
                }
            }
        }
    }
    for (std::size_t i = 0; i < p_.tiles.size(); ++i) {
        const tile& x = p_.tiles[i];
        const bool contributes = x.kind == tile_kind::parameter_gradient && x.summand >= 0 && x.origin < 0 &&
                                 x.step + 1 == p_.steps_per_plan;
        if (contributes && listed[i] == 0 && (x.keep || !p_.gradients.empty())) {
            return refuse(nullptr, "a gradient of the parameter " + parameter_path_of(g_, x.tensor) + " is not listed");
        }
    }
    return true;
}

/// Every piece of a tensor (or of its gradient) in a step is among the results, or a copy of it; of an input, which has
/// none, what is listed is whole.
TESSERA_INLINE bool verifier::lists_all(int tensor, tile_kind kind, int step) const {
    std::vector<std::uint64_t> listed;
    bool whole_input = true;
    for (const result_piece& r : p_.results) {
        const tile& x = p_.tiles[to_size(r.tile)];
        if (r.tensor == tensor && x.kind == kind && r.step == step) {
            listed.push_back(number_of(x.region, static_cast<std::uint64_t>(r.summand)));
            whole_input = whole_input && x.region == whole(g_.tensors[tensor].extents);
        }
    }
    if (g_.tensors[tensor].producer < 0 && kind == tile_kind::activation) {
        return whole_input;
    }
    std::vector<std::uint64_t> made;
    for (int m = 0; m < p_.micro_batches; ++m) {
        tile x;
        x.kind = kind;
        x.tensor = tensor;
        x.step = step;
        x.micro_batch = m;
        const piece_range all = pieces_of(piece_key(x));
        for (std::size_t i = all.begin; i < all.end; ++i) {
            const tile& piece = p_.tiles[to_size(pieces_[i].tile)];
            made.push_back(number_of(piece.region, static_cast<std::uint64_t>(piece.summand)));
        }
    }
    for (std::vector<std::uint64_t>* list : {&listed, &made}) {
        std::sort(list->begin(), list->end());
        list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    return listed == made;
}

/// True if intervals are the elements [0, n), each once; sorts them.
TESSERA_INLINE bool verifier::covers_once(std::vector<interval>& all, index_t n) {
    std::sort(all.begin(), all.end(), [](const interval& a, const interval& b) { // empty ones first
        return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    index_t end = 0;
    for (const interval& i : all) {
        if (i.begin != end) {
            return false;
        }
        end = i.end;
    }
    return end == n;
}

/// Running statistics move with one operator.
TESSERA_INLINE bool verifier::statistics_follow_one() {
    std::vector<int> follows(to_size(g_.parameter_count), -1); // by running statistics: the operator that moves them
    for (int op = 0; op < g_.op_count; ++op) {
        const int state = desc(op).running_state();
        if (state < 0) {
            continue;
        }
        int& first = follows[to_size(g_.ops[op].parameters[desc(op).operands[state].slot])];
        if (first >= 0) {
            return refuse(nullptr, path_of(g_, op) + " shares the running statistics of " + path_of(g_, first) +
                                       ", and in a training they follow one operator; give each its own, or share "
                                       "what does not move them");
        }
        first = op;
    }
    return true;
}

/// By parameter: whether a gradient flows to it, or it is running statistics.
TESSERA_INLINE std::vector<char> verifier::moving_parameters() const {
    std::vector<char> moves(to_size(g_.parameter_count), 0);
    for (int i = 0; i < g_.parameter_count; ++i) {
        moves[to_size(i)] = g_.parameters[i].state ? 1 : 0;
    }
    for (const tile& t : p_.tiles) {
        if (t.kind == tile_kind::parameter_gradient) {
            moves[to_size(t.tensor)] = 1;
        }
    }
    return moves;
}

/// In training every element of every copy of a parameter to which a gradient flows, and of running statistics, is
/// updated once in every step, after all that read it in that step and before all that read it in the next; or, where
/// gradients are used late, before and after so many steps later. An element's updates come in the order of their
/// steps.
TESSERA_INLINE bool verifier::updates() {
    if (p_.kind != run_kind::training) {
        return true;
    }
    if (!statistics_follow_one()) {
        return false;
    }
    const std::vector<char> moves = moving_parameters();
    for (std::size_t i = 0; i < p_.tiles.size(); ++i) {
        const tile& x = p_.tiles[i];
        if (x.kind != tile_kind::parameter) {
            continue;
        }
        copy_updates of;
        if (!updates_of(i, of) || !is_averaged(x, of)) {
            return false;
        }
        bool good = true;
        for (std::vector<interval>& w : of.written) {
            good = good && (moves[to_size(x.tensor)] != 0 ? covers_once(w, x.elements) : w.empty());
        }
        if (!good) {
            return refuse(nullptr, "a copy of the parameter " + parameter_path_of(g_, x.tensor) + " on device " +
                                       std::to_string(x.device) + (x.on_host ? "'s host" : "") +
                                       " is not updated exactly once");
        }
    }
    return true;
}

/// Collects what writes a copy of a parameter, each in time for what else touches its elements.
TESSERA_INLINE bool verifier::updates_of(std::size_t tile, copy_updates& of) {
    of.written.resize(to_size(p_.steps_per_plan));
    of.averaged.resize(to_size(p_.steps_per_plan));
    for (const auto& [writer, a] : history_[tile]) {
        const task& w = p_.tasks[to_size(writer)];
        if (!a.write) {
            continue;
        }
        if (w.step < 0 || w.step >= p_.steps_per_plan) {
            return refuse(&w, "there is no such step");
        }
        (w.kind() == task_kind::average && !brings_up(w) ? of.averaged : of.written)[to_size(w.step)].push_back(
            a.elements);
        of.differs = of.differs || w.params().scale != 1;
        for (const auto& [reader, b] : history_[tile]) {
            if (!intersect(a.elements, b.elements).empty() &&
                !in_time(w, p_.tasks[to_size(reader)], writer, reader, b.write)) {
                return false;
            }
        }
    }
    return true;
}

/// Whether the task `w` writes a parameter in time for `r`, which reads (or also writes) the same elements of it.
TESSERA_INLINE bool verifier::in_time(const task& w, const task& r, int writer, int reader, bool both_write) {
    if (both_write) {
        return p_.staleness == 0 || w.step >= r.step || !before(reader, writer) ||
               refuse(&r, "a task updates a parameter before the step before its own has updated it");
    }
    if (r.kind() == task_kind::average && w.kind() != task_kind::average && r.step == w.step) {
        return !before(reader, writer) || refuse(&r, "copies of a parameter are averaged before all are updated");
    }
    if (brings_up(r) && w.kind() == task_kind::update) {
        return !(r.step >= w.step ? before(reader, writer) : before(writer, reader)) ||
               refuse(&r, "a parameter is brought up before the host has updated it, or when it has done so again");
    }
    const int late = w.kind() == task_kind::update || brings_up(w) ? p_.staleness : 0;
    if (r.step <= w.step + late && before(writer, reader)) {
        return refuse(&r, "a task reads a parameter that is updated already");
    }
    if (r.step > w.step + late && before(reader, writer)) {
        return refuse(&r, "a task reads a parameter before the step before its own has updated it");
    }
    return true;
}

/// A copy that is updated by itself is averaged with the others when it is due.
TESSERA_INLINE bool verifier::is_averaged(const tile& x, copy_updates& of) {
    for (int step = 0; step < p_.steps_per_plan && of.differs; ++step) {
        const bool due = step + 1 == p_.steps_per_plan || (p_.average_every > 0 && (step + 1) % p_.average_every == 0);
        if (due && !covers_once(of.averaged[to_size(step)], x.elements)) {
            return refuse(nullptr, "a copy of the parameter " + parameter_path_of(g_, x.tensor) + " on device " +
                                       std::to_string(x.device) +
                                       " is updated by itself and never averaged with the others");
        }
    }
    return true;
}

/// The members of a collective (tasks of one message, or, of a parameter by itself, updates that write to the same
/// copies) are complete and on one stream, and every list has collectives in the same order.
TESSERA_INLINE bool verifier::collectives() {
    const auto is_member = [](const task& t) {
        return t.params().message >= 0 ||
               (t.kind() == task_kind::update && t.params().parts.empty() && t.params().slices > 1 &&
                t.params().method == exchange::sliced && t.writes.size() > 1);
    };
    std::vector<std::pair<const task*, int>> seen; // the first member of each, and how many there are of its writes
    const auto number_of = [&](const task& t) {
        std::size_t k = 0;
        while (k < seen.size() &&
               (t.params().message >= 0
                    ? seen[k].first->params().message != t.params().message || seen[k].first->kind() != t.kind()
                    : seen[k].first->writes != t.writes || seen[k].first->step != t.step)) {
            ++k;
        }
        return k;
    };
    for (const task& t : p_.tasks) {
        if (!is_member(t)) {
            continue;
        }
        const std::size_t k = number_of(t);
        if (k == seen.size()) {
            seen.push_back({&t, 0});
        }
        if (seen[k].first->stream != t.stream) {
            return refuse(&t, "the members of a collective are on different streams");
        }
        ++seen[k].second;
        if (t.params().message < 0 && static_cast<int>(t.writes.size()) != t.params().slices) {
            return refuse(&t, "a member of a collective writes to fewer copies than there are members");
        }
        bool alike = true;
        for_each_part(t, [&](const task& one) {
            for (int w : one.writes) {
                alike = alike && (p_.tiles[to_size(w)].kind == tile_kind::scalar ||
                                  p_.tiles[to_size(w)].elements == p_.tiles[to_size(one.writes[0])].elements);
            }
        });
        if (!alike) {
            return refuse(&t, "the members of a collective have different sizes");
        }
    }
    for (const auto& [first, members] : seen) {
        if (first->params().message < 0 && members != static_cast<int>(first->writes.size())) {
            return refuse(nullptr, "a collective lacks members");
        }
    }
    for (const std::vector<int>& list : p_.order) {
        std::size_t last = 0;
        for (int i : list) {
            const task& t = p_.tasks[to_size(i)];
            if (!is_member(t)) {
                continue;
            }
            const std::size_t k = number_of(t);
            if (k < last) {
                return refuse(&t, "two devices issue their collectives in different orders");
            }
            last = k;
        }
    }
    return true;
}

TESSERA_INLINE bool verifier::fits(index_t device_memory) {
    for (std::size_t d = 0; d < p_.arena_bytes.size() && device_memory > 0; ++d) {
        const index_t bytes = p_.arena_bytes[d] + p_.persistent_bytes[d];
        if (bytes > device_memory) {
            return refuse(nullptr, "device " + std::to_string(d) + " needs " + std::to_string(bytes) + " bytes (" +
                                       std::to_string(p_.persistent_bytes[d]) +
                                       " of them for parameters and optimizer state) and has " +
                                       std::to_string(device_memory) + "; split more, or use smaller batches");
        }
    }
    return true;
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
