// SPDX-License-Identifier: Apache-2.0
// Checks of what a plan makes: outputs, updates, collectives; and that it fits in memory.
#pragma once

#include "tessera/plan/verifier.hpp"

namespace tessera::detail {

/// Every element of every operator's output is produced exactly once for every part and replica, and at most as often again for backward.
template <class Plan>
bool verifier<Plan>::coverage() {
    for (int op = 0; op < g_.op_count; ++op) {
        if (!made_once(op, false) || !made_once(op, true)) {
            return false;
        }
    }
    return true;
}

/// `again`: of the micro-batches that are recomputed.
template <class Plan>
bool verifier<Plan>::made_once(int op, bool again) {
    const description d = g_.describe(op);
    const int out = d.output();
    index_t volume = d.operands[out].extents.volume();
    std::vector<std::pair<const task*, box>> made;
    std::vector<char> present(at(p_.micro_batches), 0);
    for (const task& t : p_.tasks) {
        const bool forward = again ? t.what == pass::recompute : t.what == pass::forward || t.what == pass::evaluate;
        if (t.kind == task_kind::compute && t.op == op && forward && t.value[out] >= 0 && has(written_by(d, t), out)) {
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
        return refuse(nullptr, "the output of operator " + std::string(g_.ops[op].name) + " is never produced");
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

/// In training every element of every copy of a parameter to which a gradient flows, and of running statistics, is updated once,
/// after all that read it.
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
        index_t written = 0;
        for (const auto& [writer, a] : history_[i]) {
            written += a.write ? a.elements.size() : 0;
            for (const auto& [reader, b] : history_[i]) {
                if (a.write && !b.write && !intersect(a.elements, b.elements).empty() && before(writer, reader)) {
                    return refuse(&p_.tasks[at(reader)], "a task reads a parameter that is updated already");
                }
            }
        }
        if (written != (moves[at(x.tensor)] != 0 ? x.elements : 0)) {
            return refuse(nullptr, "a copy of a parameter of " + std::string(g_.parameters[x.tensor].layer) +
                                       " on device " + std::to_string(x.device) + " is not updated exactly once");
        }
    }
    return true;
}

/// The members of an update that writes slices to all copies are complete and on one lane, and every list has such groups in the same order.
template <class Plan>
bool verifier<Plan>::collectives() {
    std::vector<std::vector<int>> groups;
    std::vector<std::pair<std::vector<int>, int>> seen; // writes, members
    std::vector<task_lane> lanes;
    for (const task& t : p_.tasks) {
        if (t.kind != task_kind::update || t.slices == 1) {
            continue;
        }
        std::size_t k = 0;
        while (k < seen.size() && seen[k].first != t.writes) {
            ++k;
        }
        if (k == seen.size()) {
            seen.push_back({t.writes, 0});
            lanes.push_back(t.lane);
        }
        if (lanes[k] != t.lane) {
            return refuse(&t, "the members of a collective are on different lanes");
        }
        ++seen[k].second;
        if (static_cast<int>(t.writes.size()) != t.slices) {
            return refuse(&t, "a member of a collective writes to fewer copies than there are members");
        }
        for (int w : t.writes) {
            if (p_.tiles[at(w)].elements != p_.tiles[at(t.writes[0])].elements) {
                return refuse(&t, "the members of a collective have different sizes");
            }
        }
    }
    for (const auto& [tiles, members] : seen) {
        if (members != static_cast<int>(tiles.size())) {
            return refuse(nullptr, "a collective lacks members");
        }
    }
    for (const std::vector<int>& list : p_.order) {
        std::size_t last = 0;
        for (int i : list) {
            const task& t = p_.tasks[at(i)];
            if (t.kind != task_kind::update || t.slices == 1) {
                continue;
            }
            std::size_t k = 0;
            while (seen[k].first != t.writes) {
                ++k;
            }
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
