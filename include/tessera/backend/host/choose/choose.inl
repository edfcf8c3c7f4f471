// SPDX-License-Identifier: Apache-2.0
// Bodies of choose.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/choose.hpp"

#include <utility>

namespace tessera::host::detail {

TESSERA_INLINE void chooser::choose() {
    if (how_ == tuning::random) {
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            const auto n = static_cast<std::uint64_t>(groups_[i].legs[0].options.size());
            groups_[i].chosen = static_cast<int>((op::mix(seed_ ^ op::mix(i)) >> 20U) % n);
        }
        return;
    }
    for (const group& x : groups_) {
        std::vector<double> total(x.legs[0].options.size(), 0);
        for (const group::leg& l : x.legs) {
            const compute_call c = call(p_.tasks[to_size(l.tasks[0])]);
            const std::vector<double> measured =
                how_ == tuning::measure ? catalog_.seconds(c, l.options) : std::vector<double>();
            for (std::size_t k = 0; k < total.size(); ++k) {
                total[k] += how_ == tuning::measure ? measured[k] : estimate(c, l.options[k]);
            }
        }
        costs_.push_back(std::move(total));
    }
    double best = -1;
    std::vector<int> winner;
    for (const int start : {-1, format::samples16, format::channels16, format::channels_last, format::plain}) {
        descend(start);
        const double total = total_cost();
        if (best < 0 || total < best) {
            best = total;
            winner.clear();
            for (const group& x : groups_) {
                winner.push_back(x.chosen);
            }
        }
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        groups_[i].chosen = winner[i];
    }
}

TESSERA_INLINE double chooser::total_cost() {
    double total = 0;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        total += costs_[i][to_size(groups_[i].chosen)];
    }
    for (const passed& x : passed_) {
        total += cost(x);
    }
    return total;
}

/// Coordinate descent from the choice that prefers one format everywhere (-1: the fastest of each).
TESSERA_INLINE void chooser::descend(int preferred) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        group& x = groups_[i];
        x.chosen = 0;
        for (int k = 0; k < static_cast<int>(costs_[i].size()); ++k) {
            const bool mine = entry_format(x.legs[0].options[to_size(k)]) == preferred;
            const bool current = entry_format(x.legs[0].options[to_size(x.chosen)]) == preferred;
            if (mine == current ? costs_[i][to_size(k)] < costs_[i][to_size(x.chosen)] : mine) {
                x.chosen = k;
            }
        }
    }
    bool moved = true;
    for (int round = 0; moved && round < 20; ++round) {
        moved = false;
        for (int i = 0; i < static_cast<int>(groups_.size()); ++i) {
            const int before = groups_[to_size(i)].chosen;
            take_best(i, [](const candidate&) { return true; });
            moved = moved || groups_[to_size(i)].chosen != before;
        }
        // What shares a tensor also moves together: a group alone may only trade one reorder for another.
        for (const passed& x : passed_) {
            const std::vector<place> all = places_of(x);
            for (const int f : formats_of(all)) {
                moved = move_together(all, f) || moved;
            }
        }
    }
}

/// Every group that touches a tensor takes its best way with the tensor in format `f`; undone unless that costs less.
TESSERA_INLINE bool chooser::move_together(const std::vector<place>& all, int f) {
    std::vector<int> members;
    std::vector<int> touched;
    std::vector<int> before;
    for (const place& x : all) {
        if (std::find(members.begin(), members.end(), x.group) == members.end()) {
            members.push_back(x.group);
            before.push_back(groups_[to_size(x.group)].chosen);
            for (const int t : touched_[to_size(x.group)]) {
                if (std::find(touched.begin(), touched.end(), t) == touched.end()) {
                    touched.push_back(t);
                }
            }
        }
    }
    const auto total = [&] {
        double sum = 0;
        for (const int g : members) {
            sum += costs_[to_size(g)][to_size(groups_[to_size(g)].chosen)];
        }
        for (const int t : touched) {
            sum += cost(passed_[to_size(t)]);
        }
        return sum;
    };
    const double old = total();
    for (const place& x : all) {
        take_best(x.group, [&](const candidate& k) { return format_in(x, k) == f; });
    }
    if (total() < old - 1e-12) {
        return true;
    }
    for (std::size_t i = 0; i < members.size(); ++i) {
        groups_[to_size(members[i])].chosen = before[i];
    }
    return false;
}

TESSERA_INLINE std::vector<place> chooser::places_of(const passed& x) {
    std::vector<place> all = x.contributions;
    if (x.writer.group >= 0) {
        all.push_back(x.writer);
    }
    for (const reader& r : x.readers) {
        all.push_back(r.where);
    }
    return all;
}

/// The formats that a tensor can have in one way or another.
TESSERA_INLINE std::vector<int> chooser::formats_of(const std::vector<place>& all) const {
    std::vector<int> formats;
    for (const place& x : all) {
        for (const candidate& k : groups_[to_size(x.group)].legs[to_size(x.leg)].options) {
            const int f = format_in(x, k);
            if (f >= 0 && std::find(formats.begin(), formats.end(), f) == formats.end()) {
                formats.push_back(f);
            }
        }
    }
    return formats;
}

/// By rules of thumb, which are the operators' own.
TESSERA_INLINE double chooser::estimate(const compute_call& c, const candidate& k) {
    const double flops =
        static_cast<double>(is_forward(c.what) ? forward_flops(*c.d, c.ranges) : backward_flops(*c.d, c.ranges)) +
        static_cast<double>(forward_bytes(*c.d, c.ranges)) / 4;
    const operator_row* const row = catalog_.rows().find(c.attributes);
    return (row != nullptr && row->effort != nullptr ? row->effort(c, k, flops) : flops) / 5e10;
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
