// SPDX-License-Identifier: Apache-2.0
// What searches for placements share: what they return, and how they weigh a placement that does not fit.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/evaluate.hpp"
#include "tessera/search/placement/groups.hpp"

namespace tessera::search::placement {

/// A placement that a search has found, with its price.
struct found {
    assignment where{};
    index_t step = 0;         ///< ns
    index_t excess_bytes = 0; ///< beyond the devices' memory; 0: it is feasible
    std::int64_t evaluations = 0;
    bool feasible() const { return excess_bytes == 0; }
    /// The smaller excess is better, so that whatever fits is better than whatever does not; then the shorter step.
    bool better_than(const found& other) const {
        return excess_bytes != other.excess_bytes ? excess_bytes < other.excess_bytes : step < other.step;
    }
};

/// A placement with its price, which took one evaluation.
inline found priced(evaluator& e, assignment where) {
    const price p = e.priced(where);
    return {std::move(where), p.step, p.excess_bytes, 1};
}

/// ns of a node's two tasks on the first device, or on the first kind of device that runs them.
inline double work_of(const evaluator& e, int node) {
    const task_time t = e.time(node, 0);
    return static_cast<double>(t.forward) + static_cast<double>(t.backward);
}

namespace detail {

/// What a local search compares: the step, made longer by what does not fit, up to ten times for all memory of one device.
class weighed_price {
public:
    explicit weighed_price(const evaluator& e) {
        for (int d = 0; d < e.devices(); ++d) {
            memory_ = std::max(memory_, e.capacity(d));
        }
    }
    double operator()(const found& f) const {
        const double over =
            f.excess_bytes == 0 ? 0 : static_cast<double>(f.excess_bytes) / static_cast<double>(memory_);
        return static_cast<double>(f.step) * (1 + (over > 0 ? 0.25 : 0) + 10 * over);
    }

private:
    index_t memory_ = 1;
};

/// A graph of groups with their work in ns (on the first kind of device that runs them) and the bytes between them, either way.
struct group_work {
    std::vector<double> work;
    std::vector<std::vector<int>> members; ///< nodes, in topological order
};

inline group_work work_of(const evaluator& e, const grouping& groups) {
    group_work w;
    w.work.assign(at(groups.count), 0);
    w.members.resize(at(groups.count));
    for (const int v : e.order().order) {
        w.work[at(groups.of[at(v)])] += placement::work_of(e, v);
        w.members[at(groups.of[at(v)])].push_back(v);
    }
    return w;
}

} // namespace detail

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
