// SPDX-License-Identifier: Apache-2.0
// Streams and events: which calls wait for which, so that no two that touch the same bytes, one of them writing, are
// unordered.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/call.hpp"

#include <algorithm>

namespace tessera::cuda::detail {

/// Sets the waits of a list whose calls have their streams and whose plan has its memory. Calls are taken in the order
/// of the list; a clock for each says how many calls of every stream are known to be finished when it starts.
class call_scheduler {
public:
    call_scheduler(call_list& list, const plan& p);

    void run();

private:
    struct past_use {
        int call;
        index_t begin;
        index_t end;
        bool write;
    };

    int* start_of(std::size_t c) { return start_.data() + c * streams_; }
    int* end_of(std::size_t c) { return end_.data() + c * streams_; }

    void join(int* into, const int* other) const;

    /// A call, or the calls of a group: none of these finishes before all have started.
    void step(std::size_t first, std::size_t last);

    const tile& root_of(const memory_use& m) const { return p_.tiles[to_size(p_.root(m.tile))]; }
    std::vector<past_use>& past_of(const tile& t);

    void require_past(std::size_t c, const memory_use& m);

    void require(std::size_t c, std::size_t other);

    /// How many tasks of every device the plan knows to be finished when a task starts.
    void order_tasks();

    /// The plan orders all tasks that touch the same memory; but tasks that share collectives issue calls for each
    /// other.
    bool spins(std::size_t c, std::size_t other) const;

    void remember(std::size_t c, const memory_use& m);

    call_list& l_;
    const plan& p_;
    std::size_t streams_;
    std::vector<int> start_;
    std::vector<int> end_;
    std::vector<int> position_;
    std::vector<std::vector<past_use>> history_;
    std::vector<int> last_;
    std::vector<int> issued_;
    std::vector<int> known_; ///< for every task and device
};

} // namespace tessera::cuda::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/calls/schedule_calls.inl"
#endif

#include "tessera/base/end_header.inl"
