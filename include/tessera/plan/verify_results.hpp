// SPDX-License-Identifier: Apache-2.0
// Checks of what a plan makes: outputs, updates, collectives; and that it fits in memory.
#pragma once

#include "tessera/plan/verifier.hpp"

#include <algorithm>

namespace tessera::detail {

/// Every element of every operator's output is produced exactly once for every part and replica, and at most as often again for backward.
template <class Plan>
bool verifier<Plan>::coverage() {
    for (int op = 0; op < g_.op_count; ++op) {
        for (int step = 0; step < p_.period; ++step) {
            if (!made_once(op, step, false) || !made_once(op, step, true)) {
                return false;
            }
        }
    }
    return true;
}

/// `again`: of the micro-batches that are recomputed.
template <class Plan>
bool verifier<Plan>::made_once(int op, int step, bool again) {
    const description d = g_.describe(op);
    const int out = d.output();
    index_t volume = d.operands[out].extents.volume();
    std::vector<std::pair<const task*, box>> made;
    std::vector<char> present(at(p_.micro_batches), 0);
    for (const task& t : p_.tasks) {
        const bool forward = again ? t.what == pass::recompute : t.what == pass::forward || t.what == pass::evaluate;
        if (t.kind == task_kind::compute && t.op == op && t.step == step && forward && t.value[out] >= 0 &&
            has(written_by(d, t), out)) {
            made.push_back({&t, region(d, out, t.ranges)});
            if (t.micro_batch < 0 || t.micro_batch >= p_.micro_batches) {
                return refuse(&t, "there is no such micro-batch");
            }
            present[at(t.micro_batch)] = 1;
        }
    }
    if (made.empty() && (again || g_.ops[op].attributes.kind == op_kind::flatten)) {
        return true; // nothing is recomputed; flattening only renames
    }
    if (made.empty()) {
        return refuse(nullptr, "the output of operator " + path_of(g_, op) + " is never produced");
    }
    if (again) {
        const index_t batch = d.operands[out].extents[0];
        index_t samples = 0;
        for (int m = 0; m < p_.micro_batches; ++m) {
            samples += present[at(m)] != 0 ? even_part(batch, p_.micro_batches, m).size() : 0;
        }
        volume = volume / batch * samples;
    }
    index_t total = 0;
    for (const auto& [t, b] : made) {
        total += b.volume();
        if (!(p_.tiles[at(t->value[out])].region == b)) {
            return refuse(t, "an operator writes a region that is not its shard's");
        }
    }
    if (total % volume != 0) {
        return refuse(made[0].first, "elements of the output are missing or produced a different number of times");
    }
    const index_t copies = total / volume;
    for (const auto& [t, b] : made) {
        index_t overlap = 0;
        for (const auto& [u, c] : made) {
            overlap += intersect(b, c).volume();
        }
        if (overlap != copies * b.volume()) {
            return refuse(t, "elements of the output are produced a different number of times");
        }
    }
    return true;
}

template <class Plan>
std::uint32_t verifier<Plan>::written_by(const description& d, const task& t) {
    std::uint32_t mask = 0;
    for (int k = t.first_nest; k <= t.last_nest; ++k) {
        mask |= bit(d.nests[k].write);
    }
    return mask;
}

/// True if intervals are the elements [0, n), each once; sorts them.
template <class Plan>
bool verifier<Plan>::covers_once(std::vector<interval>& all, index_t n) {
    std::sort(all.begin(), all.end(), [](const interval& a, const interval& b) { return a.begin < b.begin; });
    index_t end = 0;
    for (const interval& i : all) {
        if (i.begin != end) {
            return false;
        }
        end = i.end;
    }
    return end == n;
}

/// In training every element of every copy of a parameter to which a gradient flows, and of running statistics, is updated once in every step,
/// after all that read it in that step and before all that read it in the next.
template <class Plan>
bool verifier<Plan>::updates() {
    if (p_.kind != run_kind::training) {
        return true;
    }
    std::vector<char> moves(at(g_.parameter_count), 0);
    for (int i = 0; i < g_.parameter_count; ++i) {
        moves[at(i)] = g_.parameters[i].kind == op_kind::batch_norm && g_.parameters[i].slot == 2 ? 1 : 0;
    }
    for (const tile& t : p_.tiles) {
        if (t.kind == tile_kind::parameter_gradient) {
            moves[at(t.tensor)] = 1;
        }
    }
    for (std::size_t i = 0; i < p_.tiles.size(); ++i) {
        const tile& x = p_.tiles[i];
        if (x.kind != tile_kind::parameter) {
            continue;
        }
        std::vector<std::vector<interval>> written(at(p_.period));
        std::vector<std::vector<interval>> averaged(at(p_.period));
        bool differs = false; // from the other copies
        for (const auto& [writer, a] : history_[i]) {
            const task& w = p_.tasks[at(writer)];
            if (!a.write) {
                continue;
            }
            if (w.step < 0 || w.step >= p_.period) {
                return refuse(&w, "there is no such step");
            }
            (w.kind == task_kind::average ? averaged : written)[at(w.step)].push_back(a.elements);
            differs = differs || w.scale != 1;
            for (const auto& [reader, b] : history_[i]) {
                const task& r = p_.tasks[at(reader)];
                if (b.write || intersect(a.elements, b.elements).empty()) {
                    continue;
                }
                if (r.kind == task_kind::average && w.kind != task_kind::average && r.step == w.step) {
                    if (before(reader, writer)) {
                        return refuse(&r, "copies of a parameter are averaged before all are updated");
                    }
                    continue;
                }
                if (r.step <= w.step && before(writer, reader)) {
                    return refuse(&r, "a task reads a parameter that is updated already");
                }
                if (r.step > w.step && before(reader, writer)) {
                    return refuse(&r, "a task reads a parameter before the step before its own has updated it");
                }
            }
        }
        if (differs && !covers_once(averaged.back(), x.elements)) {
            return refuse(nullptr, "a copy of the parameter " + parameter_path_of(g_, x.tensor) + " on device " +
                                       std::to_string(x.device) +
                                       " is updated by itself and never averaged with the others");
        }
        bool good = true;
        for (std::vector<interval>& w : written) {
            good = good && (moves[at(x.tensor)] != 0 ? covers_once(w, x.elements) : w.empty());
        }
        if (!good) {
            return refuse(nullptr, "a copy of the parameter " + parameter_path_of(g_, x.tensor) + " on device " +
                                       std::to_string(x.device) + " is not updated exactly once");
        }
    }
    return true;
}

/// The members of a collective (tasks of one message, or, of a parameter by itself, updates that write to the same copies) are complete and
/// on one lane, and every list has collectives in the same order.
template <class Plan>
bool verifier<Plan>::collectives() {
    const auto is_member = [](const task& t) {
        return t.message >= 0 || (t.kind == task_kind::update && t.parts.empty() && t.slices > 1 &&
                                  t.how == exchange::sliced && t.writes.size() > 1);
    };
    std::vector<std::pair<const task*, int>> seen; // the first member of each, and how many there are of its writes
    const auto number_of = [&](const task& t) {
        std::size_t k = 0;
        while (k < seen.size() &&
               (t.message >= 0 ? seen[k].first->message != t.message || seen[k].first->kind != t.kind
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
        if (seen[k].first->lane != t.lane) {
            return refuse(&t, "the members of a collective are on different lanes");
        }
        ++seen[k].second;
        if (t.message < 0 && static_cast<int>(t.writes.size()) != t.slices) {
            return refuse(&t, "a member of a collective writes to fewer copies than there are members");
        }
        bool alike = true;
        for_each_part(t, [&](const task& one) {
            for (int w : one.writes) {
                alike = alike && (p_.tiles[at(w)].kind == tile_kind::scalar ||
                                  p_.tiles[at(w)].elements == p_.tiles[at(one.writes[0])].elements);
            }
        });
        if (!alike) {
            return refuse(&t, "the members of a collective have different sizes");
        }
    }
    for (const auto& [first, members] : seen) {
        if (first->message < 0 && members != static_cast<int>(first->writes.size())) {
            return refuse(nullptr, "a collective lacks members");
        }
    }
    for (const std::vector<int>& list : p_.order) {
        std::size_t last = 0;
        for (int i : list) {
            const task& t = p_.tasks[at(i)];
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

template <class Plan>
bool verifier<Plan>::fits(index_t device_memory) {
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
