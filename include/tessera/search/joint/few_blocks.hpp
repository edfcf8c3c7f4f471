// SPDX-License-Identifier: Apache-2.0
// What a step of a parallelism takes in time and memory, from simulated plans of a few blocks, replicas and
// micro-batches: repeated blocks and micro-batches add the same each, so that what two more of them add says what all
// do.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/owned.hpp"
#include "tessera/net/repeats.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/search/joint/parallelism.hpp"
#include "tessera/simulate/task_time.hpp"

namespace tessera::search {

/// An estimate, or what is known of one plan that was simulated whole.
struct joint_cost {
    index_t step = 0;   ///< ns
    index_t bubble = 0; ///< ns of it that the busiest worker waits for others to begin and to end
    index_t bytes = 0;  ///< of the device that needs most
};

class few_block_estimator {
public:
    static constexpr int blocks_needed = 5;

    /// Network and cluster must outlive the estimator.
    few_block_estimator(const graph_view& g, const cluster& on, const lower_options& lowering = {},
                        const simulation::task_times& times = {});

    /// False for a network of fewer repeated blocks, or whose blocks cannot be left out: its whole plan is simulated
    /// then.
    bool estimates() const { return estimates_; }
    /// As many stages as the network can be cut into.
    int most_stages() const;
    const repeated_blocks& repeats() const { return repeats_; }

    /// Configurations and stages that the numbers leave open: the additive model's choice within a replica (see
    /// shared_by::exact), and stages of as many blocks as can be alike.
    parallelism_parts parts_of(const parallelism& x);

    /// Throws what strategy_of() throws.
    joint_cost operator()(const parallelism& x);

    /// What one device takes for a micro-batch of so many samples by itself, the whole network forward and backward,
    /// and what it keeps meanwhile besides parameters: devices that share it take and keep no less together.
    struct alone {
        index_t samples = 0;
        recompute_rule recomputed{};
        index_t time = 0;  ///< ns
        index_t bytes = 0; ///< of its working arena
    };
    const alone& time_alone(index_t samples, const recompute_rule& recomputed);

    /// Of the devices [first, first + devices) of a plan with memory, what one needs at most.
    static index_t most_bytes(const plan& p, int first, int devices);

private:
    /// What plans of two and four blocks say, as a line in the number of blocks.
    struct line {
        index_t two = 0;
        index_t four = 0;
        index_t at(index_t blocks) const { return two + (four - two) * (blocks - 2) / 2; }
    };
    struct measured {
        parallelism of{}; ///< of one stage
        index_t samples = 0;
        line step[3]; ///< of one, two and three micro-batches
        line bytes;   ///< of a device that has all
        /// Of what has blocks alone, the operators before them alone, and those behind alone, with the results of one
        /// and of two micro-batches kept; where there are several stages.
        line apart[3][2];
        bool is_apart = false;
    };
    struct within {
        int share;
        shared_by how;
        index_t samples;
        std::vector<configuration> ops;
    };

    /// The samples of one replica's micro-batch.
    index_t samples_of(const parallelism& x) const;
    const std::vector<configuration>& within_of(const parallelism& x, index_t samples);
    joint_cost of_few(const parallelism& x);
    const measured& measure(const parallelism& x);
    /// One stage of some blocks and a network of them, with so many replicas (of an even number two stand for all).
    struct few {
        shortened_graph network;
        strategy how;
        int data = 1;   ///< replicas
        int copies = 1; ///< for so many of each
    };
    few few_of(const parallelism& x, index_t samples, int blocks);
    plan plan_of(const few& f, int devices) const;
    struct few_cost {
        index_t step = 0;  ///< ns
        index_t bytes = 0; ///< of the device that needs most
        index_t arena = 0; ///< of the first device's, while it works
    };
    /// Time and bytes of a plan of some blocks.
    few_cost simulate_few(const parallelism& x, index_t samples, int blocks);
    /// Bytes of a device of each part (see measured::apart), with the results of `kept` micro-batches kept.
    void memory_apart(const parallelism& x, index_t samples, int blocks, int kept, index_t* bytes);
    void measure_apart(measured& m);
    const cluster& first_devices_of(int devices);
    /// The bubble of several stages, and what their workers need.
    void add_pipeline(const parallelism& x, const measured& m, index_t blocks, joint_cost& c) const;
    index_t time_between_stages(const parallelism& x, index_t samples) const;

    const cluster& on_;
    graph_view g_;
    lower_options lowering_;
    simulation::task_times times_;
    repeated_blocks repeats_;
    bool estimates_ = false;
    std::vector<index_t> op_times_; ///< of every operator, as the roofline predicts
    std::vector<within> within_;
    std::vector<measured> measured_;
    std::vector<alone> alone_;
    std::vector<owned<cluster>> firsts_; ///< the first devices of the machine
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/joint/few_blocks.inl"
#endif

#include "tessera/base/end_header.inl"
