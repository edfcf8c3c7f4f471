// SPDX-License-Identifier: Apache-2.0
// What a backend has prepared, plan by plan, so that it can let go of a plan's.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/mutex.hpp"
#include "tessera/base/owned.hpp"
#include "tessera/execute/local/store.hpp"

#include <utility>

namespace tessera {

/// A `Jobs` for every plan, by its addresses, made when it is first asked for. Threads may ask at the same time; what
/// they put in, they put in under the lock.
template <class Jobs>
class jobs_by_plan {
public:
    /// Calls put(jobs of the plan) under the lock; returns what it returns.
    template <class Put>
    decltype(auto) with(const addresses& where, Put&& put) {
        const locked lock(mutex_);
        for (const auto& e : plans_) {
            if (e->where == &where) {
                return put(e->jobs);
            }
        }
        plans_.emplace_back(new entry{&where, {}});
        return put(plans_.back()->jobs);
    }
    void drop(const addresses& where) {
        const locked lock(mutex_);
        std::size_t kept = 0;
        for (auto& e : plans_) {
            if (e->where != &where) {
                plans_[kept++] = std::move(e);
            }
        }
        plans_.resize(kept);
    }
    std::size_t size() const { return plans_.size(); } ///< plans

private:
    struct entry {
        const addresses* where;
        Jobs jobs;
    };
    mutex mutex_;
    std::vector<owned<entry>> plans_;
};

} // namespace tessera

#include "tessera/base/end_header.inl"
