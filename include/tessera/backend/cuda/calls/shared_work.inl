// SPDX-License-Identifier: Apache-2.0
// Bodies of shared_work.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/shared_work.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE shared_work work_finder::find(int first) const {
    const task& t = task_at(first);
    shared_work w{first, count_members(first)};
    if (t.kind() == task_kind::gather) {
        w.shares = gathers_in_place(w) ? crossing::collective : crossing::transfers;
        return w;
    }
    if (w.members < 2 || !spread_over_gpus(w)) {
        return w;
    }
    const bool to_all = for_all(w, [&](const std::vector<task>& one) { return writes_all_copies(one); });
    const bool from_all = for_all(w, [&](const std::vector<task>& one) { return reads_one_of_each(one); });
    const bool kept = !for_all(w, [&](const std::vector<task>& one) { return may_overwrite(one); });
    if (t.kind() == task_kind::reduce && to_all && from_all) {
        w.sums = crossing::all_reduce;
    } else if (from_all && !kept) {
        w.sums = crossing::collective;
    }
    w.shares = w.sums == crossing::all_reduce ? crossing::none : to_all ? crossing::collective : crossing::transfers;
    return w;
}

TESSERA_INLINE int work_finder::count_members(int first) const {
    const task& t = task_at(first);
    int n = 1;
    if (t.params().message >= 0) {
        while (exists(first + n) && task_at(first + n).params().message == t.params().message &&
               task_at(first + n).kind() == t.kind()) {
            ++n;
        }
        return n;
    }
    if (t.kind() != task_kind::update || t.params().method != tessera::exchange::sliced || !t.params().parts.empty() ||
        t.params().slices < 2 || t.params().slice != 0 || static_cast<int>(t.writes.size()) != t.params().slices) {
        return 1;
    }
    while (n < t.params().slices && exists(first + n) && task_at(first + n).kind() == t.kind() &&
           task_at(first + n).writes == t.writes && task_at(first + n).params().slice == n) {
        ++n;
    }
    return n == t.params().slices ? n : 1;
}

TESSERA_INLINE bool work_finder::spread_over_gpus(const shared_work& w) const {
    const task& t = task_at(w.first);
    for (int i = 0; i < w.members; ++i) {
        const task& m = task_at(w.first + i);
        bool fits = part_count(m) == part_count(t) && m.params().slices == t.params().slices &&
                    m.params().slice == t.params().slice + i;
        for (int k = 0; k < i; ++k) {
            fits = fits && gpu(task_at(w.first + k).device) != gpu(m.device);
        }
        if (!fits) {
            return false;
        }
    }
    return true;
}

TESSERA_INLINE std::vector<int> work_finder::without_norms(const std::vector<int>& tiles) const {
    std::vector<int> left;
    for (const int t : tiles) {
        if (tile_at(t).kind != tile_kind::scalar) {
            left.push_back(t);
        }
    }
    return left;
}

TESSERA_INLINE bool work_finder::writes_all_copies(const std::vector<task>& members) const {
    const std::vector<int> all = without_norms(members[0].writes);
    bool good = all.size() == members.size();
    for (std::size_t i = 0; i < members.size() && good; ++i) {
        good = without_norms(members[i].writes) == all && tile_at(all[i]).slices == 1 &&
               tile_at(all[i]).device == members[i].device;
    }
    return good;
}

TESSERA_INLINE bool work_finder::reads_one_of_each(const std::vector<task>& members) const {
    const std::vector<int> all = without_norms(members[0].reads);
    bool good = all.size() == members.size();
    for (std::size_t i = 0; i < members.size() && good; ++i) {
        const auto own = std::count_if(all.begin(), all.end(), [&](int r) {
            return tile_at(r).device == members[i].device && tile_at(r).slices == 1;
        });
        good = own == 1 && without_norms(members[i].reads) == all;
    }
    return good;
}

TESSERA_INLINE bool work_finder::may_overwrite(const std::vector<task>& members) const {
    for (const int r : without_norms(members[0].reads)) {
        if (tile_at(p_.root(r)).keep) {
            return false;
        }
    }
    return true;
}

TESSERA_INLINE bool work_finder::gathers_in_place(const shared_work& w) const {
    const task& t = task_at(w.first);
    bool good = w.members > 1 && t.reads.size() == to_size(w.members);
    for (int i = 0; i < w.members && good; ++i) {
        const task& m = task_at(w.first + i);
        good = m.reads == t.reads && tile_at(t.reads[to_size(i)]).device == m.device;
        for (int k = 0; k < i; ++k) {
            good = good && gpu(task_at(w.first + k).device) != gpu(m.device);
        }
    }
    return good;
}

TESSERA_INLINE bool sum_alike(const task& a, const task& b) {
    if (b.kind() != task_kind::copy || b.copy().clear || a.copy().reduce != b.copy().reduce ||
        a.copy().segments.size() != b.copy().segments.size()) {
        return false;
    }
    for (const copy_segment& s : a.copy().segments) {
        bool found = false;
        for (const copy_segment& other : b.copy().segments) {
            found = found || (other.source == s.source && other.region == s.region);
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

TESSERA_INLINE bool sums_over_gpus(const plan& p, const task& t, const std::vector<int>& gpus) {
    if (t.kind() != task_kind::copy || t.copy().clear || t.copy().segments.size() < 2) {
        return false;
    }
    const tile& target = p.tiles[to_size(t.writes[0])];
    std::vector<int> seen;
    bool own = false;
    for (const copy_segment& s : t.copy().segments) {
        const tile& x = p.tiles[to_size(s.source)];
        if (x.device < 0 || !(x.region == target.region) || !(s.region == target.region) || x.type != target.type) {
            return false;
        }
        own = own || x.device == t.device;
        seen.push_back(gpus[to_size(x.device)]);
    }
    std::sort(seen.begin(), seen.end());
    return own && std::adjacent_find(seen.begin(), seen.end()) == seen.end();
}

TESSERA_INLINE shared_work find_shared_sum(const plan& p, int first, const std::vector<int>& gpus) {
    const task& t = p.tasks[to_size(first)];
    const int members = static_cast<int>(t.copy().segments.size());
    if (!sums_over_gpus(p, t, gpus) || first + members > static_cast<int>(p.tasks.size())) {
        return {};
    }
    for (int i = 0; i < members; ++i) {
        const task& m = p.tasks[to_size(first + i)];
        if (!sum_alike(t, m) || !sums_over_gpus(p, m, gpus)) {
            return {};
        }
        for (int k = 0; k < i; ++k) {
            if (p.tasks[to_size(first + k)].device == m.device) {
                return {};
            }
        }
    }
    return {first, members};
}

TESSERA_INLINE std::vector<shared_work> find_shared_work(const plan& p, const std::vector<int>& gpus) {
    std::vector<shared_work> found(p.tasks.size());
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        if (found[i].members > 0) {
            continue;
        }
        const task_kind k = p.tasks[i].kind();
        const bool of_parameters = k == task_kind::update || k == task_kind::reduce || k == task_kind::gather ||
                                   (k == task_kind::average && p.tiles[to_size(p.tasks[i].reads[0])].on_host);
        const shared_work w = k == task_kind::copy ? find_shared_sum(p, static_cast<int>(i), gpus)
                              : of_parameters      ? work_finder(p, gpus).find(static_cast<int>(i))
                                                   : shared_work{};
        for (std::size_t m = 0; m < to_size(w.members); ++m) {
            found[i + m] = w;
        }
    }
    return found;
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
