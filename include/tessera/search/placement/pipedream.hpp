// SPDX-License-Identifier: Apache-2.0
// PipeDream's planner (Narayanan et al., SOSP 2019, section 3.1): a network in stages, each on one or several machines
// with its own replicas, so that the slowest stage is the fastest that it can be; for machines that are all linked
// alike. And a cost graph as a split problem, to compare plans without replicas.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/search/placement/downsets.hpp"
#include "tessera/search/placement/groups.hpp"
#include "tessera/search/placement/split_problem.hpp"

#include <cmath>
#include <limits>

namespace tessera::search::placement {

/// With compute time C, parameters of W bytes, output of a stage of A bytes and bandwidth B.
enum class pipedream_formula : std::uint8_t {
    /// m replicas take max(C, 2(m-1) W/B) / m; and 2A/B between stages counts as a stage (the paper, as recalled)
    paper,
    /// (C + 4(m-1) W/(m B)) / m; what is sent between stages takes no time (the published code, as it runs unless told
    /// otherwise)
    code,
};

struct pipedream_options {
    int machines = 4;
    double bytes_per_second = 1e9;
    pipedream_formula formula = pipedream_formula::paper;
    bool replicate = true;            ///< false: every stage on one machine
    std::size_t most_downsets = 4000; ///< with more, only cuts of the topological order are tried
};

struct pipedream_plan {
    assignment stage;          ///< of every node
    std::vector<int> replicas; ///< of every stage; all machines together at most
    double seconds = 0;        ///< per mini-batch, once the pipeline is full
    double data_parallel = 0;  ///< the same of one stage on all machines
    bool all_cuts = false;     ///< every pipeline was looked at, not only the cuts of one order
};

/// Time of a stage with so many replicas, by the formula.
double pipedream_stage(const pipedream_options& o, double seconds, double parameter_bytes, int replicas);

namespace detail {

/// Nodes that take no time and have no parameters, at the beginning or the end, are left to the stages of their
/// neighbours (the published code removes them).
std::vector<char> plain_ends(const cost_graph& g, const graph_order& order);

/// The planner's tables, step by step: what each downset costs, the best plan of each with so many machines, and the
/// plan that they lead to. Places of nodes are among those that are planned, in topological order.
class pipedream_planner {
public:
    pipedream_planner(const cost_graph& g, const pipedream_options& o);

    pipedream_plan plan();

private:
    void sum_downsets();
    bool is_read_outside(int place, int set) const;
    void find_best();
    void end_with(int set, int before); ///< the stages of what one downset has and another has not
    void read_stages(pipedream_plan& plan) const;
    void place_ends(assignment& stage) const;

    double& best(std::size_t set, std::size_t machines) { return best_[set * wide_ + machines]; }

    const cost_graph& g_;
    const pipedream_options& o_;
    graph_order order_;
    std::vector<char> ends_;                          ///< plain_ends()
    std::vector<int> place_;                          ///< of every node, or -1
    std::vector<int> planned_;                        ///< nodes by place
    downsets sets_;                                   ///< all, or, of too many, those of one order
    bool all_cuts_ = false;                           ///< they are all
    std::size_t wide_ = 0;                            ///< machines, and none
    std::vector<double> seconds_, parameters_, sent_; ///< of every downset: sums, and bytes from it to the rest
    std::vector<double> best_;                        ///< by downset and machines
    std::vector<std::pair<int, int>> from_;           ///< downset before the last stage, and its replicas
};

} // namespace detail

/// The plan whose slowest stage, by the formula, is the fastest. Times are those of the first kind of device. Throws
/// tessera::error for a graph that is not sound, fewer than one machine or no bandwidth.
pipedream_plan plan_pipedream(const cost_graph& g, const pipedream_options& o);

/// The graph as a problem of contiguous splits over equal accelerators, times in ms: of a node forward and backward, of
/// its output there and the gradient back. It takes what it holds and what it makes. Times are those of the first kind
/// of device.
split_problem to_split_problem(const cost_graph& g, int accelerators, double memory, double bytes_per_second);

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/pipedream.inl"
#endif

#include "tessera/base/end_header.inl"
