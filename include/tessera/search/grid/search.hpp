// SPDX-License-Identifier: Apache-2.0
// Search over grids of data x tensor x stages for machines of up to many thousands of devices: what the places of a
// stage do is found by elimination on a few blocks, the rest is enumerated, and everything is priced by grid_estimator.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/grid/estimate.hpp"
#include "tessera/search/optcnn/optcnn.hpp"

namespace tessera::search {

struct grid_options {
    lower_options lowering; ///< how the optimizer updates
    simulation::task_times times;
    int largest_tensor = 0;          ///< places that divide one operator; 0: the devices of a node
    index_t largest_micro_batch = 4; ///< samples of one replica
    int micro_batches = 0;           ///< this many and no others, however large; 0: any
    bool recompute = false;          ///< only grids that repeat forward
    bool memory_limit = true;
};

struct grid_candidate {
    device_grid grid;
    std::string within; ///< how the places of a stage divide its operators
    grid_cost cost;
};

struct grid_result {
    grid_candidate best;
    std::vector<grid_candidate> better; ///< all that were the best when they were found, the best one last
    int considered = 0;                 ///< grids that exist for the batch and the machine
    int too_large = 0;                  ///< of them, do not fit in memory
    int estimated = 0; ///< of them, whose whole step was estimated; the others cannot be faster than the best
};

namespace detail {

/// The configurations of a few blocks on `places` devices that cost least under the additive model, every operator on
/// all of them; `price` is what a byte of parameters on a device costs, in ps: 0 takes no account of memory.
std::vector<configuration> eliminated_within(const graph_view& g, const machine& on, int places, index_t price);

/// What the devices of a stage are to the additive model.
machine places_of(const cluster& on, int places, precision math = precision::fp32);

} // namespace detail

/// Searches a grid for all devices of a cluster of equal devices and nodes. Throws tessera::error for a network without
/// enough repeated blocks, and where nothing fits.
class grid_searcher {
public:
    grid_searcher(const graph_view& g, const cluster& on, const grid_options& o = {});

    grid_result run();

    grid_estimator& estimator() { return estimate_; }

private:
    struct open {
        grid_candidate what;
        index_t bound = 0;
    };

    std::string asked() const;

    /// Samples of a replica's micro-batch that are tried.
    std::vector<index_t> samples_of_micro_batches(int tensor, index_t batch, bool joins) const;

    /// All grids: divisors of the devices, of the batch, and what the places may do.
    std::vector<open> list();

    std::vector<std::pair<std::string, std::vector<configuration>>> within(int tensor, index_t samples) const;

    const cluster& on_;
    graph_view g_;
    grid_options options_;
    grid_estimator estimate_;
    int largest_ = 1;
};

grid_result search_grid(const graph_view& g, const cluster& on, const grid_options& o = {});

inline constexpr option_row largest_tensor_option{
    "largest-tensor", "devices that divide one operator of a grid, at most; 0: those of a node", 0, 0, 16384};
inline constexpr option_row largest_micro_batch_option{
    "largest-micro-batch", "samples of one replica's micro-batch of a grid, at most", 4, 1, 1 << 24};

inline constexpr search_record grid_record{
    .name = "grid",
    .title = "grid",
    .about = "data x tensor x stages under 1F1B, for networks of repeated blocks on many devices",
    .run =
        [](const graph_view& g, const cluster& on, const search_options& o) {
            grid_options how;
            how.lowering = o.lowering;
            how.largest_tensor = o.values.as<int>(largest_tensor_option);
            how.largest_micro_batch = o.values.as<index_t>(largest_micro_batch_option);
            how.micro_batches = o.micro_batches;
            how.recompute = o.recompute;
            const grid_result found = search_grid(g, on, how);
            const device_grid& x = found.best.grid;
            return search_found{strategy_of(g, x),
                                "data " + std::to_string(x.data) + " x tensor " + std::to_string(x.tensor) +
                                    " x stages " + std::to_string(x.stages) + ", " + std::to_string(x.micro_batches) +
                                    " micro-batches, places: " + found.best.within + "\n",
                                found.best.cost.makespan, found.best.cost.most_bytes};
        },
    .options = {largest_tensor_option, largest_micro_batch_option},
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/grid/search.inl"
#endif

#include "tessera/base/end_header.inl"
