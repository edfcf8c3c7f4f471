// SPDX-License-Identifier: Apache-2.0
// Bodies of verifier.hpp: checks that what micro-batches contribute is added once each: gradients of parameters and the
// statistics of a batch.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {

/// Tiles of a sum lie on its device and have the same elements; only its target, in the first place, is read and
/// written.
TESSERA_INLINE bool verifier::sum_is_sound(const task& t) {
    if (t.writes.size() != 1 || t.reads.empty()) {
        return refuse(&t, "a sum has one target and at least one source");
    }
    const tile& to = p_.tiles[to_size(t.writes[0])];
    for (std::size_t i = 0; i < t.reads.size(); ++i) {
        const tile& from = p_.tiles[to_size(t.reads[i])];
        if (from.device != t.device || !(from.region == to.region) || from.elements != to.elements ||
            from.type != to.type || from.tensor != to.tensor || from.format != to.format || from.kind != to.kind ||
            from.step != to.step || to.step != t.step || from.slices != 1 || to.slices != 1) {
            return refuse(&t, "a sum adds unlike tiles, or one of another device");
        }
        if (i > 0 && std::find(t.reads.begin(), t.reads.begin() + static_cast<std::ptrdiff_t>(i), t.reads[i]) !=
                         t.reads.begin() + static_cast<std::ptrdiff_t>(i)) {
            return refuse(&t, "a sum adds a tile twice");
        }
        if (i > 0 && t.reads[i] == t.writes[0]) {
            return refuse(&t, "a sum overwrites what it has not read yet");
        }
        if (i > 0 && t.reads[0] == t.writes[0] && from.summand >= 0) {
            return refuse(&t, "a sum takes a contribution that others take too");
        }
    }
    return true;
}

TESSERA_INLINE bool verifier::sums() {
    std::vector<std::vector<int>> readers(p_.tiles.size()); // sums that add a tile to another
    std::vector<const task*> writer(p_.tiles.size(), nullptr);
    std::vector<int> taken(p_.tiles.size(), -1); // a task that reads a tile and is no sum
    for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
        const task& t = p_.tasks[to_size(i)];
        const bool adds = t.kind() == task_kind::sum || t.kind() == task_kind::reorder;
        for (int r : t.reads) {
            if (adds && r != t.writes[0]) {
                readers[to_size(r)].push_back(i);
            } else if (!adds) {
                taken[to_size(r)] = i;
            }
        }
        if (t.kind() == task_kind::sum && t.reads[0] != t.writes[0]) {
            writer[to_size(t.writes[0])] = &t;
        }
    }
    return gradients_add_up(readers, taken) && (p_.micro_batches == 1 || statistics_add_up(writer));
}

/// Micro-batches of which an operator has gone forward in a step.
TESSERA_INLINE int verifier::micro_batches_of(int op, int step) const {
    std::vector<char> seen(to_size(p_.micro_batches), 0);
    for (const int i : tasks_of_[to_size(op)]) {
        const task& t = p_.tasks[to_size(i)];
        if (t.step == step && t.what == pass::forward) {
            seen[to_size(t.micro_batch)] = 1;
        }
    }
    return static_cast<int>(std::count(seen.begin(), seen.end(), 1));
}

/// Every gradient that a shard makes of a parameter is a contribution of its own or is added to one of the same shard,
/// once; and a shard contributes once for every micro-batch of which it went forward.
TESSERA_INLINE bool verifier::gradients_add_up(const std::vector<std::vector<int>>& readers,
                                               const std::vector<int>& taken) {
    std::vector<contribution> all;
    for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
        const task& t = p_.tasks[to_size(i)];
        for (int o = 0; o < max_operands && t.kind() == task_kind::compute; ++o) {
            int x = has(t.compute().emits, o) ? t.compute().gradient[o] : -1;
            if (x < 0 || p_.tiles[to_size(x)].kind != tile_kind::parameter_gradient) {
                continue;
            }
            while (p_.tiles[to_size(x)].summand < 0) {
                if (readers[to_size(x)].size() != 1) {
                    return refuse(&t, "a micro-batch's gradient is not added to the others' exactly once");
                }
                if (taken[to_size(x)] >= 0) {
                    return refuse(&p_.tasks[to_size(taken[to_size(x)])],
                                  "a task takes a micro-batch's gradient for the sum of all");
                }
                x = p_.tasks[to_size(readers[to_size(x)][0])].writes[0];
                if (p_.tiles[to_size(x)].summand < 0 && readers[to_size(x)].empty()) {
                    return refuse(&t, "a micro-batch's gradient is added to what nobody uses");
                }
            }
            all.push_back({i, o, x});
        }
    }
    const auto key = [&](const contribution& c) {
        const task& t = p_.tasks[to_size(c.task)];
        return ((index_t{t.step} * g_.op_count + t.op) * max_operands + c.operand) * (index_t{1} << 24) +
               t.shard_number;
    };
    std::sort(all.begin(), all.end(), [&](const contribution& a, const contribution& b) {
        return key(a) != key(b) ? key(a) < key(b) : a.task < b.task;
    });
    for (std::size_t first = 0; first < all.size();) {
        std::size_t last = first;
        while (last < all.size() && key(all[last]) == key(all[first])) {
            ++last;
        }
        if (!shard_is_complete(all, first, last)) {
            return false;
        }
        first = last;
    }
    return contributions_are_apart(all) && (p_.micro_batches == 1 || copies_agree(all));
}

/// Each contribution to a parameter's gradient is of one operand of one operator's shard, and what one of a micro-batch
/// makes is one contribution: copies of a shard make copies of it.
TESSERA_INLINE bool verifier::contributions_are_apart(const std::vector<contribution>& all) {
    struct made {
        std::uint64_t of = 0;     ///< parameter, step and part
        std::uint64_t source = 0; ///< operator, operand, micro-batch and ranges
        std::uint64_t user = 0;   ///< operator and operand
        int micro_batch = 0;
        int task = 0;
    };
    std::vector<made> list;
    for (const contribution& c : all) {
        const task& t = p_.tasks[to_size(c.task)];
        const tile& x = p_.tiles[to_size(c.total)];
        const std::uint64_t whose = piece_key_of_parameter(x);
        list.push_back({op::mix(whose ^ static_cast<std::uint64_t>(x.summand + 1)),
                        op::mix(whose ^ source_of(t, c.operand)),
                        static_cast<std::uint64_t>(t.op * max_operands + c.operand), t.micro_batch, c.task});
    }
    std::sort(list.begin(), list.end(),
              [](const made& a, const made& b) { return a.source != b.source ? a.source < b.source : a.of < b.of; });
    for (std::size_t i = 1; i < list.size(); ++i) {
        if (list[i].source == list[i - 1].source && list[i].of != list[i - 1].of) {
            return refuse(&p_.tasks[to_size(list[i].task)],
                          "copies of a shard make different contributions to a gradient");
        }
    }
    std::sort(list.begin(), list.end(),
              [](const made& a, const made& b) { return a.of != b.of ? a.of < b.of : a.micro_batch < b.micro_batch; });
    for (std::size_t i = 1; i < list.size(); ++i) {
        const made& a = list[i - 1];
        const made& b = list[i];
        if (a.of == b.of && (a.user != b.user || (a.micro_batch == b.micro_batch && a.source != b.source))) {
            return refuse(&p_.tasks[to_size(b.task)], "two shards make one contribution to a gradient");
        }
    }
    return true;
}

/// What contributions to one gradient have in common.
TESSERA_INLINE std::uint64_t verifier::piece_key_of_parameter(const tile& x) {
    return op::mix(static_cast<std::uint64_t>(x.tensor) + (static_cast<std::uint64_t>(x.step) << 32U));
}

/// Copies of one part of a gradient are sums over the same micro-batches.
TESSERA_INLINE bool verifier::copies_agree(const std::vector<contribution>& all) {
    const auto batches = [&](int total) {
        std::vector<int> result;
        for (const contribution& c : all) {
            if (c.total == total) {
                result.push_back(p_.tasks[to_size(c.task)].micro_batch);
            }
        }
        std::sort(result.begin(), result.end());
        return result;
    };
    std::vector<std::pair<int, std::vector<int>>> known; // total, micro-batches
    for (const contribution& c : all) {
        const tile& x = p_.tiles[to_size(c.total)];
        bool seen = false;
        for (const auto& [total, batches_of] : known) {
            seen = seen || total == c.total;
        }
        if (seen) {
            continue;
        }
        known.emplace_back(c.total, batches(c.total));
        for (const auto& [total, of_other] : known) {
            const tile& other = p_.tiles[to_size(total)];
            if (other.tensor == x.tensor && other.step == x.step && other.summand == x.summand &&
                other.region == x.region && of_other != known.back().second) {
                return refuse(&p_.tasks[to_size(c.task)], "copies of a gradient are sums over different micro-batches");
            }
        }
    }
    return true;
}

/// The contributions [first, last) of one shard to one parameter: one for every micro-batch, and every sum begins with
/// one of them.
TESSERA_INLINE bool verifier::shard_is_complete(const std::vector<contribution>& all, std::size_t first,
                                                std::size_t last) {
    const task& any = p_.tasks[to_size(all[first].task)];
    std::vector<int> forward(to_size(p_.micro_batches), 0);
    for (const int i : tasks_of_[to_size(any.op)]) {
        const task& t = p_.tasks[to_size(i)];
        if (t.what == pass::forward && t.step == any.step && t.shard_number == any.shard_number) {
            forward[to_size(t.micro_batch)] = 1;
        }
    }
    for (std::size_t i = first; i < last; ++i) {
        const task& t = p_.tasks[to_size(all[i].task)];
        if (forward[to_size(t.micro_batch)]-- != 1) {
            return refuse(&t, "a micro-batch contributes twice to a gradient, or has never gone forward");
        }
        int direct = 0;
        for (std::size_t k = first; k < last; ++k) {
            const task& u = p_.tasks[to_size(all[k].task)];
            direct += all[k].total == all[i].total && u.compute().gradient[all[k].operand] == all[k].total ? 1 : 0;
        }
        if (direct != 1) {
            return refuse(&t, "the sum over micro-batches does not begin with one of them");
        }
    }
    for (int left : forward) {
        if (left > 0) {
            return refuse(&any, "a micro-batch does not contribute to a gradient");
        }
    }
    return true;
}

/// Running statistics follow the sum of the statistics of all micro-batches.
TESSERA_INLINE bool verifier::statistics_add_up(const std::vector<const task*>& writer) {
    for (const task& t : p_.tasks) {
        if (t.kind() != task_kind::compute || t.what != pass::update || p_.replica_statistics) {
            continue; // one replica's: see replicas()
        }
        const task* const sum = t.reads.empty() ? nullptr : writer[to_size(t.reads[0])];
        if (p_.joint_statistics && sum == nullptr && !t.reads.empty() &&
            p_.tiles[to_size(t.reads[0])].micro_batch < 0) {
            continue; // a copy adds them up: see parts()
        }
        std::vector<char> seen(to_size(p_.micro_batches), 0);
        int count = 0;
        for (const int r : sum != nullptr ? sum->reads : std::vector<int>{}) {
            const int m = p_.tiles[to_size(r)].micro_batch;
            if (m < 0 || m >= p_.micro_batches || seen[to_size(m)]++ != 0) {
                return refuse(&t, "a micro-batch's statistics are added twice");
            }
            if (!is_complete(p_.tiles[to_size(r)])) {
                return refuse(&t, "running statistics follow a part of a micro-batch's");
            }
            ++count;
        }
        if (count != micro_batches_of(t.op, t.step)) {
            return refuse(&t, "running statistics do not follow those of every micro-batch");
        }
    }
    return true;
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
