// SPDX-License-Identifier: Apache-2.0
// How long the parts of a grid's stages take: measured on the simulated plan of a few blocks of one replica.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/grid/parts.hpp"
#include "tessera/simulate/simulate.hpp"

#include <array>

namespace tessera::search {

/// Times of a stage's parts on one group of devices, from a simulation of the plan of four blocks in two stages and
/// three micro-batches: the blocks before and after the second and third are like all others.
struct grid_times {
    struct of_micro_batch {
        index_t forward[3]{}; ///< of what stands before the blocks, of a block, of what stands behind
        index_t recompute[3]{};
        index_t recompute_last = 0; ///< of a stage's last block, whose last results nobody there reads backward
        std::array<std::vector<index_t>, 3> backward; ///< of every operator, in the order of operators
        index_t send_forward = 1;                     ///< from stage to stage
        index_t send_backward = 1;
    };
    of_micro_batch first; ///< the first micro-batch
    of_micro_batch next;  ///< another one: gradients of parameters are added to those before
};

namespace detail {

/// Ends of the computation of every operator and micro-batch in a simulated plan.
class operator_ends {
public:
    operator_ends(const plan& p, const simulation::timeline& t, int ops);
    /// Pass 0, 1 or 2: forward, recompute, backward.
    index_t end(int which, int op, int micro_batch) const { return ends_[slot(which, op, micro_batch)]; }
    /// The last end of the operators [first, last); 0 where they do nothing.
    index_t end(int which, int first, int last, int micro_batch) const;

private:
    std::size_t slot(int which, int op, int m) const { return to_size((m * 3 + which) * ops_ + op); }
    int ops_;
    std::vector<index_t> ends_;
};

} // namespace detail

class grid_timer : public grid_parts {
public:
    using grid_parts::grid_parts;

    /// The step times that the estimate is made of.
    const grid_times& times_of(const device_grid& x);

private:
    struct timed {
        index_t samples, latency, megabytes;
        std::vector<configuration> ops;
        grid_times times;
    };
    grid_times measure(const graph_view& g, const strategy& s) const;

    grid_times::of_micro_batch micro_batch_times(const graph_view& g, const detail::operator_ends& ends, int m,
                                                 bool two) const;

    std::vector<timed> timed_;
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/grid/times.inl"
#endif

#include "tessera/base/end_header.inl"
