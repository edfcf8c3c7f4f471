// SPDX-License-Identifier: Apache-2.0
// What the estimates of time and memory of a grid share: the few blocks that stand for all, and who holds which part of
// which parameter.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/lower.hpp"
#include "tessera/search/grid/grid.hpp"
#include "tessera/simulate/task_time.hpp"

namespace tessera::search {

class grid_parts {
public:
    static constexpr int blocks_needed = 4;

    /// The cluster and the network must outlive the estimator. Throws tessera::error for a network without enough
    /// repeated blocks.
    grid_parts(const graph_view& g, const cluster& on, const simulation::task_times& times = {},
               const lower_options& o = {});

    const repeated_blocks& repeats() const { return repeats_; }
    index_t memory_limit() const { return limit_; }

    /// Samples of one micro-batch of one replica, at least 1.
    index_t samples(const device_grid& x) const;

protected:
    int blocks_in(const device_grid& x, int stage) const;

    /// The strategy of one replica for a few blocks; in two stages, at the devices of the grid's first two, or in one.
    strategy few_blocks(const device_grid& x, const shortened_graph& few, int micro_batches, bool two) const;

    /// What an operator's places hold of its parameters.
    struct stored_parameter {
        int parameter = 0;
        index_t elements = 0;                 ///< of the largest region
        std::vector<std::vector<int>> places; ///< which hold the same region
    };
    struct stored_by_op {
        configuration within;
        std::vector<stored_parameter> parameters;
    };
    const std::vector<stored_parameter>& stored_by(const device_grid& x, int op);
    /// True for the operator of a stage that goes backward last of those that use a parameter.
    bool is_first_user(const device_grid& x, int parameter, int op) const;
    int stages_of(const device_grid& x, int parameter) const;
    /// Devices that hold a region of a parameter.
    index_t members_of(const device_grid& x, const stored_parameter& h) const;

    const cluster& on_;
    graph_view g_;
    simulation::task_times times_;
    lower_options options_;
    repeated_blocks repeats_;
    index_t limit_ = 0;
    const std::vector<stored_parameter> none_;

private:
    std::vector<std::vector<int>> users_; ///< of every parameter
    std::vector<stored_by_op> stored_;    ///< of every operator
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/grid/parts.inl"
#endif

#include "tessera/base/end_header.inl"
