// SPDX-License-Identifier: Apache-2.0
// Times single calls of a plan on a GPU, in memory of their own: the plan need not fit, nor the GPUs that it is for be
// there.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/prepare.hpp"
#include "tessera/net/graph.hpp"
#include "tessera/op/mask.hpp"

#include <algorithm>

namespace tessera::cuda {

class call_timer {
public:
    /// `tools`: of a device; its GPU must be current whenever the timer is used.
    explicit call_timer(const device_tools& tools) : tools_(tools), before_(make_timer()), after_(make_timer()) {}

    /// Nanoseconds that a call takes on the GPU when it is issued again and again: the median of three such runs of at
    /// least a millisecond. Not for NCCL calls and uploads.
    index_t time(const plan& p, const graph_view& g, const call& c);

private:
    double milliseconds(prepared_call& c, int repeats);

    /// Every tile gets a place of its own; what shares a tile in the plan shares it here.
    std::vector<void*> places_for(const plan& p, const graph_view& g, const call& c);

    /// Numbers of both signs below 1, since arithmetic on zeros takes less power and so less time; indices of all rows
    /// alike.
    static void fill(std::byte* to, const tile& t, const graph_view& g);

    /// Words whose halves are numbers of 16 bits, each with a sign and an exponent of its own below 1: also numbers as
    /// floats and doubles.
    static const std::vector<std::uint32_t>& pattern();
    /// No lambda, which would be constexpr: g++ tries at compile time what a static variable starts with, all 65536
    /// words in 0.9 s.
    static std::vector<std::uint32_t> make_pattern();

    device_tools tools_;
    event_handle before_;
    event_handle after_;
    device_pointer memory_;
    index_t size_ = 0;
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/measure/call_timer.inl"
#endif

#include "tessera/base/end_header.inl"
