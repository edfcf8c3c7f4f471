// SPDX-License-Identifier: Apache-2.0
// The waits that make a plan's lists respect its order where they touch the same memory, and no others.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/access.hpp"
#include "tessera/plan/late_sums.hpp"

#include <algorithm>

namespace tessera {

namespace detail {

/// Orders tasks across lists. A task's clock says how many tasks of every list are known to be finished when it starts.
class clocks {
public:
    explicit clocks(plan& p)
        : p_(p), lists_(to_size(p.lists())), before_(p.tasks.size() * lists_, 0), last_(lists_, -1) {}

    /// The clock of task `t` from its predecessor in its list; to be called in the plan's order.
    void start(int t);

    /// Makes task `t` wait for the earlier task `other` unless something it waits for already does.
    void require(int t, int other);

    bool ordered(int earlier, int later) const;

    /// Tasks that came by so far, as far as one number says which: those of one list, up to a count.
    struct past {
        int list = -1;        ///< -1: there are none
        int count = 0;        ///< of the list's tasks, with all of these among them
        bool several = false; ///< they are in several lists, or queued
    };
    void add(past& to, int t) const;
    /// True where require() of each of them would change nothing.
    bool knows(int t, const past& all) const {
        return !all.several && (all.list < 0 || before_[to_size(t) * lists_ + to_size(all.list)] >= all.count);
    }

private:
    std::size_t list_of(int t) const;
    int* row(int t) { return before_.data() + to_size(t) * lists_; }

    plan& p_;
    std::size_t lists_;
    std::vector<int> before_;
    std::vector<int> last_;
};

/// For every tile the others that have some of its arena memory, at other times, in the order of their numbers.
std::vector<std::vector<int>> sharing(const plan& p);

} // namespace detail

/// Puts every task in its list, in the plan's order.
void number_tasks(plan& p);

/// Sets the waits: after every earlier task that touches the same elements, one of the two writing; and, where tiles
/// share arena memory one after the other (offsets are set), after every task that touches the earlier tile.
void set_waits(plan& p);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/depend.inl"
#endif

#include "tessera/base/end_header.inl"
