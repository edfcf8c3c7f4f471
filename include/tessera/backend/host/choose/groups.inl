// SPDX-License-Identifier: Apache-2.0
// Bodies of groups.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/groups.hpp"

#include <utility>

namespace tessera::host::detail {

TESSERA_INLINE bool backward_follows_forward(const operator_rows& rows, const op_attributes& a) {
    const operator_row* const row = rows.find(a);
    return row != nullptr && row->backward_follows_forward;
}

TESSERA_INLINE bool corresponds(const candidate& a, const candidate& b) {
    if (a.engine != b.engine) {
        return false;
    }
    for (int o = 0; o < max_operands; ++o) {
        const auto differ = [](int x, int y) {
            return x >= 0 && y >= 0 && x != y && x < format::opaque && y < format::opaque;
        };
        if (differ(a.value[o], b.value[o]) || differ(a.gradient[o], b.gradient[o])) {
            return false;
        }
    }
    return true;
}

TESSERA_INLINE void chooser::make_groups() {
    for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
        const task& t = p_.tasks[to_size(i)];
        if (t.kind() != task_kind::compute || t.what == pass::update) {
            continue;
        }
        const bool follows = backward_follows_forward(catalog_.rows(), g_.ops[t.op].attributes);
        const pass what = computed_as(t.what);
        group* found = nullptr;
        for (group& x : groups_) {
            if (x.op == t.op && (follows ? x.nest < 0 : x.what == what && x.nest == t.compute().first_nest)) {
                found = &x;
            }
        }
        if (found == nullptr) {
            groups_.push_back({t.op, what, follows ? -1 : t.compute().first_nest, {}, 0});
            found = &groups_.back();
        }
        group::leg* leg = nullptr;
        for (group::leg& l : found->legs) {
            const task& first = p_.tasks[to_size(l.tasks[0])];
            if (computed_as(first.what) == what && first.compute().first_nest == t.compute().first_nest) {
                leg = &l;
            }
        }
        if (leg == nullptr) {
            found->legs.push_back({{}, catalog_.candidates(call(t))});
            leg = &found->legs.back();
        }
        leg->tasks.push_back(i);
    }
    for (group& x : groups_) {
        align(x);
    }
}

/// Keeps what all legs of a group can do, in one order.
TESSERA_INLINE void chooser::align(group& x) {
    if (x.legs.size() < 2) {
        return;
    }
    std::vector<std::vector<candidate>> kept(x.legs.size());
    for (const candidate& k : x.legs[0].options) {
        std::vector<const candidate*> row;
        for (const group::leg& l : x.legs) {
            for (const candidate& other : l.options) {
                if (other.engine == k.engine && entry_format(other) == entry_format(k)) {
                    row.push_back(&other);
                    break;
                }
            }
        }
        if (row.size() == x.legs.size()) {
            for (std::size_t i = 0; i < row.size(); ++i) {
                kept[i].push_back(*row[i]);
            }
        }
    }
    for (std::size_t i = 0; i < x.legs.size(); ++i) {
        if (kept[i].empty()) { // nothing in common: plain loops can do anything
            add_plain_candidates(call(p_.tasks[to_size(x.legs[i].tasks[0])]), kept[i]);
        }
        x.legs[i].options = std::move(kept[i]);
    }
}

/// What a task of a group does when its first task does `k`: the same if its own shape allows it.
TESSERA_INLINE candidate chooser::option_for(int t, const candidate& k) {
    const compute_call c = call(p_.tasks[to_size(t)]);
    if (k.engine == engine_kind::generic) {
        std::vector<candidate> all;
        add_plain_candidates(c, all);
        return all[0];
    }
    const std::vector<candidate>& own = catalog_.candidates(c);
    for (const bool exactly : {true, false}) { // oneDNN numbers the weights' formats by shape
        for (const candidate& o : own) {
            if (exactly ? same_formats(o, k) : corresponds(o, k)) {
                return o;
            }
        }
    }
    const bool follows = backward_follows_forward(catalog_.rows(), c.attributes);
    if (follows) {
        for (const candidate& o : own) {
            if (o.engine == engine_kind::vectors) {
                return o;
            }
        }
    }
    return own[0];
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
