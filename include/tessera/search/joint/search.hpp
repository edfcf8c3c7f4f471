// SPDX-License-Identifier: Apache-2.0
// Joint search: data, tensor or context, and pipeline degrees, interleaving, micro-batches, ZeRO stage and recomputation
// together, under the devices' memory. What a point takes is estimated from a few blocks (few_block_estimator), the best
// are simulated whole.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/joint/few_blocks.hpp"
#include "tessera/search/record.hpp"

namespace tessera::search {

struct joint_options {
    lower_options lowering{};
    simulation::task_times times{};
    int micro_batches = 0;                      ///< this many and no others; 0: any
    int zero = -1;                              ///< this stage of ZeRO and no other; 0: none; -1: any
    const recompute_rule* recomputed = nullptr; ///< this rule and no other; null: any
    int most_simulated = 6;                     ///< plans that are simulated whole
    index_t most_tasks = 200'000;               ///< of a plan that is simulated whole, as far as can be told before
    search_report report{};                     ///< of points that were estimated
    const std::atomic<bool>* interrupted = nullptr;
};

struct joint_candidate {
    parallelism what{};
    joint_cost estimated{};
    joint_cost simulated{}; ///< step 0: it was not
    index_t least = 0;      ///< ns: no strategy of these degrees is faster, see joint_result::least
    bool fits = false;      ///< in the devices' memory, as far as is known

    const joint_cost& cost() const { return simulated.step > 0 ? simulated : estimated; }
};

struct joint_result {
    joint_candidate best{};
    strategy found{};
    std::vector<joint_candidate> all{}; ///< that were estimated or simulated, the fastest that fit first
    int considered = 0;                 ///< points that there are
    int refused = 0;                    ///< of them, break a rule: heads or positions that do not divide
    int too_large = 0;                  ///< of them, need more memory than there is, before anything is measured
    /// ns: none that fits is faster, by the estimate: devices share what one of them takes for a micro-batch by itself, without
    /// what they send and update, and have the bubble of their pipeline.
    index_t least = 0;
    bool interrupted = false;

    /// A table of the fastest of each kind (degrees, ZeRO stage, recomputation; whatever the micro-batches), at most
    /// `most` of them, each with what keeps it from being the best: memory, bubble, what else is not hidden.
    std::string table(int most = 20) const;
};

/// Searches a machine of equal devices. Points are taken in the order of their lower bounds until none can be faster
/// than the best that fits; of one set of degrees, ZeRO stages and rules of recomputation are tried from the fastest
/// until one fits. Then the best by estimate are simulated, and the best that was is what is found. Where nothing fits,
/// it is what needs least. The same call finds the same.
///
/// Throws tessera::error where no degrees divide the devices and the batch, with the numbers that would.
joint_result search_joint(const graph_view& g, const cluster& on, const joint_options& o = {});

namespace detail {

/// The search by its record: a policy that is asked for says the stage of ZeRO, or synchronizes what is found.
search_found found_by_joint(const graph_view& g, const cluster& on, const search_options& o);

} // namespace detail

inline constexpr option_row simulated_plans_option{"simulated-plans",
                                                   "plans of a joint search that are simulated whole", 6, 1, 1000};

inline constexpr search_record joint_record{
    .name = "joint",
    .title = "joint",
    .about = "data, tensor or context, pipeline, micro-batches, ZeRO stage and recomputation together",
    .run = [](const graph_view& g, const cluster& on,
              const search_options& o) { return detail::found_by_joint(g, on, o); },
    .options = {simulated_plans_option},
    .takes_all = true,
    .weighs_policy = true,
    .unit = "points",
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/joint/search.inl"
#endif

#include "tessera/base/end_header.inl"
