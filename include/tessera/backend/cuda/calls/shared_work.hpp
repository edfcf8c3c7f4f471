// SPDX-License-Identifier: Apache-2.0
// Which tasks of a plan share collectives: the members of an update or a message, and copies that add up the same
// parts.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/call.hpp"
#include "tessera/plan/parts.hpp"

#include <algorithm>

namespace tessera::cuda::detail {

/// How data cross between the members of shared work, in one group of calls.
enum class crossing : std::uint8_t {
    transfers,  ///< sends and receives of slices
    collective, ///< reduce-scatter or all-gather of slices, of equal ones as one call for each parameter
    all_reduce, ///< of whole gradients
    none,       ///< nothing is left to cross
};

/// Consecutive tasks that communicate in one group of calls before their own work and in one after it: the members of
/// an update that writes slices to all copies, the tasks of a message, or copies that all add up the same parts, one
/// from each GPU. A task by itself is one member.
struct shared_work {
    int first = -1; ///< task
    int members = 0;
    crossing sums = crossing::transfers;   ///< of contributions: before the first member's work
    crossing shares = crossing::transfers; ///< of results: after the last member's work
    bool contains(int task) const { return task >= first && task < first + members; }
    bool starts_with(int task) const { return task == first; }
    bool ends_with(int task) const { return members > 0 && task == first + members - 1; }
};

class work_finder {
public:
    work_finder(const plan& p, const std::vector<int>& gpus) : p_(p), gpus_(gpus) {}

    /// The members, beginning with task `first`, of a message, or of an update of a parameter by itself; any other task
    /// is one member.
    shared_work find(int first) const;

private:
    const task& task_at(int i) const { return p_.tasks[to_size(i)]; }
    const tile& tile_at(int i) const { return p_.tiles[to_size(i)]; }
    int gpu(int device) const { return gpus_[to_size(device)]; }
    bool exists(int i) const { return i < static_cast<int>(p_.tasks.size()); }

    int count_members(int first) const;

    /// Members are on GPUs of their own, have as many parameters, and their slices follow each other.
    bool spread_over_gpus(const shared_work& w) const;

    /// True where `f` holds for what the members do for each parameter.
    template <class Function>
    bool for_all(const shared_work& w, Function&& f) const {
        for (std::size_t k = 0; k < part_count(task_at(w.first)); ++k) {
            std::vector<task> members;
            for (int i = 0; i < w.members; ++i) {
                const task& t = task_at(w.first + i);
                members.push_back(t.params().parts.empty() ? t : part_of(t, k));
            }
            if (!f(members)) {
                return false;
            }
        }
        return true;
    }

    std::vector<int> without_norms(const std::vector<int>& tiles) const;

    /// Each member writes its slice to whole tiles, one on each member's device, in the members' order.
    bool writes_all_copies(const std::vector<task>& members) const;

    /// All members read the same whole contributions, one on each member's device.
    bool reads_one_of_each(const std::vector<task>& members) const;

    bool may_overwrite(const std::vector<task>& members) const;

    /// Every owner of a slice joins all of them, so that what it has of the whole is in its place already.
    bool gathers_in_place(const shared_work& w) const;

    const plan& p_;
    const std::vector<int>& gpus_;
};

/// True where two copies add up the same whole parts.
bool sum_alike(const task& a, const task& b);

/// True where a copy adds up whole tiles, as many as there are GPUs among them, one of them on its own device.
bool sums_over_gpus(const plan& p, const task& t, const std::vector<int>& gpus);

/// The copies, beginning with task `first`, that one all-reduce does: they follow each other (binding sees to that) and
/// are on the devices of the parts that they add up.
shared_work find_shared_sum(const plan& p, int first, const std::vector<int>& gpus);

/// For every task the work that it shares, or none.
std::vector<shared_work> find_shared_work(const plan& p, const std::vector<int>& gpus);

} // namespace tessera::cuda::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/calls/shared_work.inl"
#endif

#include "tessera/base/end_header.inl"
