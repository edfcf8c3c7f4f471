// SPDX-License-Identifier: Apache-2.0
// Bodies of verifier.hpp: checks that a parameter's update uses the sum of every contribution to its gradient exactly
// once, whatever way the sum takes.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {

/// Every parameter's contributions, those of one parameter next to each other.
TESSERA_INLINE void verifier::list_contributions() {
    contributions_.clear();
    const std::vector<char> gathered = gathered_tiles();
    for (std::size_t i = 0; i < p_.tiles.size(); ++i) {
        if (p_.tiles[i].kind == tile_kind::parameter_gradient && p_.tiles[i].summand >= 0 && gathered[i] == 0) {
            contributions_.push_back({p_.tiles[i].tensor, static_cast<int>(i)});
        }
    }
    std::sort(contributions_.begin(), contributions_.end());
}

/// What a region of a parameter's gradient is the sum of in a step.
TESSERA_INLINE std::vector<int> verifier::contributions(int parameter, int step, const box& region) const {
    std::vector<int> all;
    for (auto it =
             std::lower_bound(contributions_.begin(), contributions_.end(), std::pair<index_t, int>{parameter, 0});
         it != contributions_.end() && it->first == parameter; ++it) {
        const tile& x = p_.tiles[to_size(it->second)];
        if (x.step == step && !intersect(x.region, region).empty()) {
            all.push_back(x.summand);
        }
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

/// Whether a task makes something of gradients of parameters.
TESSERA_INLINE bool verifier::follows_gradients(const task& t) const {
    if (t.reads.empty()) {
        return false;
    }
    const bool of_parameter =
        (t.kind() == task_kind::update || t.kind() == task_kind::reduce || t.kind() == task_kind::norm ||
         t.kind() == task_kind::compress || t.kind() == task_kind::decompress) &&
        t.params().parameter >= 0;
    const tile* target = t.writes.empty() ? nullptr : &p_.tiles[to_size(t.writes[0])];
    const bool adds = t.kind() == task_kind::sum && target->kind == tile_kind::parameter_gradient &&
                      target->summand < 0 && t.reads[0] != t.writes[0];
    const bool renews = t.kind() == task_kind::reorder && !pending_[to_size(p_.root(t.reads[0]))].empty();
    return of_parameter || adds || renews;
}

/// What a task makes of the gradient of one of its parameters (`t`; `whole`: all that it does): a sum that others take
/// up, or what uses every contribution.
TESSERA_INLINE bool verifier::adds_up(const task& whole, const task& t, std::vector<own_updates>& own) {
    std::vector<int> sum;
    if (!slices_fit(t) || !parts_of(t, sum)) {
        return false;
    }
    if (t.kind() == task_kind::reduce || t.kind() == task_kind::sum || t.kind() == task_kind::reorder ||
        t.kind() == task_kind::compress || t.kind() == task_kind::decompress) {
        for (int w : t.writes) {
            hold(t, w, sum);
        }
        return true;
    }
    if (sum == std::vector<int>{all_parts}) {
        return true;
    }
    const box& region = p_.tiles[to_size(t.kind() == task_kind::norm ? t.reads[0] : t.writes[0])].region;
    if (t.params().scale == 1) {
        return sum == contributions(t.params().parameter, t.step, region) ||
               refuse(&t, "a parameter's gradient is not the sum of every contribution exactly once");
    }
    for (own_updates& o : own) {
        if (o.parameter == t.params().parameter && o.step == t.step && o.region == region) {
            o.parts.insert(o.parts.end(), sum.begin(), sum.end());
            return true;
        }
    }
    own.push_back({t.params().parameter, t.step, region, sum, &whole});
    return true;
}

/// Follows what tiles hold, task by task: which contributions (parts) each slice is the sum of.
TESSERA_INLINE bool verifier::gradients() {
    pending_.assign(p_.tiles.size(), {});
    list_contributions();
    std::vector<own_updates> own;
    for (const task& t : p_.tasks) {
        if (!follows_gradients(t)) {
            continue;
        }
        bool sound = true;
        for_each_part(t, [&](const task& one) { sound = sound && adds_up(t, one, own); });
        if (!sound) {
            return false;
        }
    }
    for (own_updates& o : own) {
        std::sort(o.parts.begin(), o.parts.end());
        if (o.parts != contributions(o.parameter, o.step, o.region)) {
            return refuse(o.first, "the updates of a parameter's copies do not use every contribution exactly once");
        }
    }
    return true;
}

/// Tiles of a slice meet tasks of the same slice alone.
TESSERA_INLINE bool verifier::slices_fit(const task& t) {
    for (const std::vector<int>* list : {&t.reads, &t.writes}) {
        for (int k : *list) {
            const tile& x = p_.tiles[to_size(k)];
            if (x.slices > 1 && (x.slice != t.params().slice || x.slices != t.params().slices)) {
                return refuse(&t, "a task touches another slice than its own");
            }
        }
    }
    return true;
}

/// Notes that a slice of a tile now holds the sum of some contributions.
TESSERA_INLINE void verifier::hold(const task& t, int which, const std::vector<int>& sum) {
    const tile& x = p_.tiles[to_size(which)];
    if (x.kind != tile_kind::parameter_gradient && x.kind != tile_kind::code) {
        return;
    }
    const interval own = slice_of(x, t);
    std::vector<pending_sum>& all = pending_[to_size(p_.root(which))];
    for (pending_sum& h : all) {
        if (h.elements == own) {
            h.parts = sum;
            return;
        }
    }
    all.push_back({own, sum});
}

/// The contributions that what a task reads of gradients adds up to, sorted; `all_parts` alone where a copy has
/// gathered all.
TESSERA_INLINE bool verifier::parts_of(const task& t, std::vector<int>& sum) {
    for (int r : t.reads) {
        const tile& x = p_.tiles[to_size(r)];
        if (x.kind == tile_kind::scalar || x.kind == tile_kind::parameter) {
            continue;
        }
        const std::vector<pending_sum>& known = pending_[to_size(p_.root(r))];
        if (known.empty() && x.kind == tile_kind::code) {
            return refuse(&t, "a task reads a compressed gradient that nothing has written yet");
        }
        if (known.empty()) {
            sum.push_back(x.summand >= 0 ? x.summand : all_parts);
            continue;
        }
        const interval own = slice_of(x, t);
        index_t covered = 0;
        const std::vector<int>* first = own.empty() ? &known[0].parts : nullptr; // more slices than elements
        for (const pending_sum& h : known) {
            const index_t common = intersect(h.elements, own).size();
            covered += common;
            if (common > 0 && first != nullptr && *first != h.parts) {
                return refuse(&t, "a task reads elements that are sums of different contributions");
            }
            first = common > 0 ? &h.parts : first;
        }
        if (covered != own.size()) {
            return refuse(&t, "a task reads elements of a sum that nothing has written yet, or that two tasks write");
        }
        if (first != nullptr) {
            sum.insert(sum.end(), first->begin(), first->end());
        }
    }
    std::sort(sum.begin(), sum.end());
    const bool again = std::adjacent_find(sum.begin(), sum.end()) != sum.end();
    const bool more = sum.size() > 1 && sum[0] == all_parts;
    const auto is_of_micro_batch = [&](int r) { // what a shard makes and another task is to add up
        return p_.tiles[to_size(r)].kind == tile_kind::parameter_gradient && p_.tiles[to_size(r)].summand < 0 &&
               pending_[to_size(p_.root(r))].empty() &&
               std::any_of(p_.tasks.begin(), p_.tasks.end(), [&](const task& x) {
                   return x.kind() == task_kind::compute &&
                          std::find(x.writes.begin(), x.writes.end(), r) != x.writes.end();
               });
    };
    if (more && std::any_of(t.reads.begin(), t.reads.end(), is_of_micro_batch)) {
        return refuse(&t, "a task takes a micro-batch's gradient for the sum of all");
    }
    return (!again && !more) || refuse(&t, "a parameter's gradient is not the sum of every contribution exactly once");
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
