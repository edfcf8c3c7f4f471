// SPDX-License-Identifier: Apache-2.0
// Bodies of verifier.hpp: checks that statistics which every shard of samples takes by itself are those of its samples
// alone.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {

TESSERA_INLINE bool verifier::replicas() {
    if (!p_.replica_statistics) {
        return true;
    }
    for (const task& t : p_.tasks) {
        if (mixes_replicas(t)) {
            return refuse(&t, "statistics of two replicas are put together, and each is to have its own");
        }
    }
    for (int op = 0; op < g_.op_count; ++op) {
        const int loop = statistics_loop(g_.describe(op));
        if (loop >= 0 && !replicas_of(op, loop)) {
            return false;
        }
    }
    return true;
}

/// True for a copy or sum between what two replicas have, or two micro-batches (which running statistics alone sum
/// over).
TESSERA_INLINE bool verifier::mixes_replicas(const task& t) const {
    if (t.kind() != task_kind::copy && t.kind() != task_kind::sum && t.kind() != task_kind::reorder) {
        return false;
    }
    const tile& to = p_.tiles[to_size(t.writes[0])];
    for (const int r : t.reads) {
        const tile& from = p_.tiles[to_size(r)];
        const bool inner = from.kind == tile_kind::intermediate || from.kind == tile_kind::intermediate_gradient;
        if (inner && (from.replica != to.replica || from.tensor != to.tensor || from.kind != to.kind ||
                      (from.micro_batch != to.micro_batch && t.kind() != task_kind::sum))) {
            return true;
        }
    }
    return false;
}

TESSERA_INLINE bool verifier::replicas_of(int op, int loop) {
    std::vector<replica_samples> known;
    for (const task& t : p_.tasks) {
        const bool counts = t.kind() == task_kind::compute && t.op == op && t.what != pass::update;
        if (counts && !keeps_to_replica(t, loop, known)) {
            return false;
        }
    }
    if (!replicas_are_apart(known)) {
        return false;
    }
    for (const task& t : p_.tasks) {
        if (t.kind() == task_kind::compute && t.op == op && t.what == pass::update && !follows_first(t, known)) {
            return false;
        }
    }
    return true;
}

/// What a task reads and writes between the nests is its own replica's, and counts that one's samples; notes them.
TESSERA_INLINE bool verifier::keeps_to_replica(const task& t, int loop, std::vector<replica_samples>& known) {
    const description d = g_.describe(t.op);
    for (int o = 0; o < d.operands.size(); ++o) {
        for (const int x : {t.compute().value[o], t.compute().gradient[o]}) {
            if (d.operands[o].kind != operand_kind::intermediate || x < 0) {
                continue;
            }
            if (t.compute().samples != t.compute().ranges[loop].size()) {
                return refuse(&t, "a replica's statistics are taken over " + std::to_string(t.compute().samples) +
                                      " samples, and it has " + std::to_string(t.compute().ranges[loop].size()));
            }
            const replica_samples own{t.step, t.micro_batch, p_.tiles[to_size(x)].replica, t.compute().ranges[loop]};
            if (p_.tiles[to_size(x)].micro_batch != t.micro_batch) {
                return refuse(&t, "a task reads statistics of another micro-batch");
            }
            std::size_t i = 0;
            while (i < known.size() && (known[i].step != own.step || known[i].micro_batch != own.micro_batch ||
                                        known[i].replica != own.replica)) {
                ++i;
            }
            if (i == known.size()) {
                known.push_back(own);
            } else if (!(known[i].samples == own.samples)) {
                return refuse(&t, "a task uses statistics of a replica that has other samples");
            }
        }
    }
    return true;
}

TESSERA_INLINE bool verifier::replicas_are_apart(const std::vector<replica_samples>& known) {
    for (const replica_samples& a : known) {
        for (const replica_samples& b : known) {
            const bool together = a.step == b.step && a.micro_batch == b.micro_batch && a.replica != b.replica;
            if (together && !intersect(a.samples, b.samples).empty()) {
                return refuse(nullptr, "two replicas take statistics over the same samples");
            }
        }
    }
    return true;
}

/// Running statistics follow the first replica that has samples: its sums over all micro-batches, and as many samples.
TESSERA_INLINE bool verifier::follows_first(const task& t, const std::vector<replica_samples>& known) {
    const int source = t.compute().value[g_.describe(t.op).find_operand(operand_kind::intermediate)];
    if (source < 0) {
        return refuse(&t, "running statistics follow nothing");
    }
    int first = -1;
    for (const replica_samples& x : known) {
        first = x.step == t.step && (first < 0 || x.replica < first) ? x.replica : first;
    }
    index_t samples = 0;
    int count = 0;
    for (const replica_samples& x : known) {
        const bool mine = x.step == t.step && x.replica == first;
        samples += mine ? x.samples.size() : 0;
        count += mine ? 1 : 0;
    }
    if (p_.tiles[to_size(source)].replica != first || t.compute().samples != samples) {
        return refuse(&t, "running statistics do not follow the first replica's");
    }
    std::vector<int> added; // micro-batches
    for (const task& u : p_.tasks) {
        if (u.kind() != task_kind::sum || u.writes[0] != source) {
            continue;
        }
        for (const int r : u.reads) {
            added.push_back(p_.tiles[to_size(r)].micro_batch);
            if (!is_complete(p_.tiles[to_size(r)])) {
                return refuse(&t, "running statistics follow a part of a micro-batch's");
            }
        }
    }
    std::sort(added.begin(), added.end());
    const bool twice = std::adjacent_find(added.begin(), added.end()) != added.end();
    if (p_.micro_batches > 1 && (twice || static_cast<int>(added.size()) != count)) {
        return refuse(&t, "running statistics do not follow those of every micro-batch");
    }
    return true;
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
