// SPDX-License-Identifier: Apache-2.0
// Bodies of nonfinite_counts.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/nonfinite_counts.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE void nonfinite_counter::run() {
    if (p_.kind != run_kind::training) {
        return;
    }
    int last = -1;
    std::vector<int> counts;
    for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
        task& t = p_.tasks[to_size(i)];
        if (t.kind() == task_kind::compute && t.what == pass::forward && loss_rows_of(p_, g_, t) >= 0) {
            int& own = own_[to_size(t.device)];
            if (own < 0) {
                own = add_count(t.device, static_cast<int>(counts.size()));
                counts.push_back(own);
            }
            t.nonfinite_count = own;
            last = i;
        }
    }
    if (last < 0) {
        return;
    }
    std::vector<task> behind;
    for (int d = 0; d < p_.devices; ++d) {
        all_[to_size(d)] = own_[to_size(d)];
        if (needs_sum(d, counts)) {
            all_[to_size(d)] = add_count(d, -1);
            behind.push_back(sum_of(counts, d, p_.tasks[to_size(last)]));
        }
    }
    std::vector<task> before;
    for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
        task& t = p_.tasks[to_size(i)];
        const bool statistics = t.kind() == task_kind::compute && t.what == pass::update;
        if (t.kind() == task_kind::update || statistics) {
            t.nonfinite_count = all_[to_size(t.device)];
        }
        if (t.kind() == task_kind::update && i < last) {
            throw error("tessera: the plan changes a parameter before it knows a loss, of " +
                        std::string(g_.ops[p_.tasks[to_size(last)].op].name) +
                        "; nothing in Tessera makes such a plan");
        }
        (statistics && i < last ? behind : before).push_back(std::move(t));
        if (i == last) {
            for (task& x : behind) {
                before.push_back(std::move(x));
            }
        }
    }
    p_.tasks = std::move(before);
}

TESSERA_INLINE bool nonfinite_counter::needs_sum(int device, const std::vector<int>& counts) const {
    const bool changes = std::any_of(p_.tasks.begin(), p_.tasks.end(), [&](const task& t) {
        return t.device == device &&
               (t.kind() == task_kind::update || (t.kind() == task_kind::compute && t.what == pass::update));
    });
    const bool alone = counts.size() == 1 && own_[to_size(device)] >= 0;
    return !alone && (changes || own_[to_size(device)] >= 0);
}

TESSERA_INLINE int nonfinite_counter::add_count(int device, int part) {
    tile x;
    x.kind = tile_kind::scalar;
    x.device = device;
    x.region = box{1, {{0, 1}}};
    x.elements = 1;
    x.summand = part;
    p_.tiles.push_back(x);
    return static_cast<int>(p_.tiles.size()) - 1;
}

TESSERA_INLINE task nonfinite_counter::sum_of(const std::vector<int>& counts, int device, const task& loss) const {
    task t;
    t.become(task_kind::copy);
    t.op = loss.op;
    t.what = loss.what;
    t.device = device;
    t.side_stream = true;
    t.writes = {all_[to_size(device)]};
    for (const int c : counts) {
        t.reads.push_back(c);
        t.mutable_copy().segments.push_back({c, p_.tiles[to_size(c)].region, c == counts[0]});
    }
    return t;
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
