// SPDX-License-Identifier: Apache-2.0
// How policies that place all nodes at once are trained: options, rewards, baselines, and choices drawn from logits.
// The loss is in ppo_loss.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/finite.hpp"
#include "tessera/base/number_text.hpp"
#include "tessera/learned/learning_options.hpp"
#include "tessera/search/placement/found.hpp"
#include "tessera/search/random_numbers.hpp"

#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace tessera::learned {

/// What rewards are compared with.
enum class ppo_baseline {
    mean_so_far, ///< of all rewards of the graph, as in the paper, as recalled
    batch_mean,  ///< of the graph's rewards in the batch
};

/// What PPO does with a batch of graphs. The clip and the number of placements of each graph are the network's
/// (gdp_shape).
struct ppo_options {
    int graphs = 1; ///< most graphs of a batch
    int epochs = 4; ///< steps of training on the placements of one batch
    double learning_rate = 2e-3;
    double clip_norm = 1;      ///< of all gradients together
    double entropy = 0.02;     ///< coefficient of the bonus, which falls to 0 in a straight line
    int entropy_updates = 200; ///< over so many updates
    double infeasible = -10;   ///< reward of a placement that does not fit (Zhou et al. 2019, as recalled)
    /// Above 0 a placement that does not fit has the reward of a step that is longer by this times the memory that it
    /// lacks over a device's (Placeto's penalty), in place of one for all: so the policy learns from those, too, which
    /// lack less.
    double memory_penalty = 0;
    /// The mean so far lags behind a policy that gets better, and one placement that did not fit lowers it for long:
    /// then all that a policy draws looks good, and little is learned. So the mean of the batch is the default.
    ppo_baseline baseline = ppo_baseline::batch_mean;
    /// Advantages are divided by their root mean square over the placements of their graph in the batch; not in the
    /// paper as far as recalled.
    bool scaled = true;
    /// Added to the logits of the contiguous placement in parts of equal time, to tell devices apart that are alike:
    /// with such devices every permutation of a policy is as good, and the uniform policy is a stationary point. 0:
    /// nothing is added, and the random initial weights alone tell them apart.
    double prior = 0;
    std::uint64_t seed = 1;
};

/// Throws tessera::error that says which option makes no sense.
void require(const ppo_options& o);

/// Bytes of the device that has the most.
double most_memory(const search::placement::evaluator& e);

/// A step over `unit` (ns), plus `penalty` times the memory that is missing over `memory` (bytes).
double penalized_step(const search::placement::found& f, double unit, double memory, double penalty);

/// The time that rewards are measured in: the work of all nodes on the first device, ns.
double reward_unit(const search::placement::evaluator& e);

/// -sqrt(step / unit), and `infeasible` where the placement does not fit (Mirhoseini et al. 2017 and Zhou et al. 2019,
/// as recalled, without the unit).
double reward_of(const search::placement::price& p, double unit, double infeasible);

/// -sqrt of the step over `unit` and of `penalty` times the missing memory over `memory`: what does not fit is the
/// worse the more it lacks (ours).
double penalized_reward(const search::placement::found& f, double unit, double memory, double penalty);

/// The mean of all rewards so far, those of this batch among them: the baseline of a graph.
struct mean_so_far {
    double sum = 0;
    std::int64_t count = 0;

    void add(double reward);
    double mean() const { return count > 0 ? sum / static_cast<double>(count) : 0; }
};

double mean_of(std::span<const double> rewards);

/// Rewards less their baseline; divided by their root mean square where `scaled`, unless they are all 0.
std::vector<double> advantages_of(std::span<const double> rewards, double baseline, bool scaled);

/// A choice and the logarithm of its probability.
struct drawn_choice {
    int choice = 0;
    double log_probability = 0;
};

/// Draws from the softmax of a row of logits.
drawn_choice draw(std::span<const float> logits, search::random_numbers& pick);

/// The choice with the largest logit, of equal ones the first.
int most_likely(std::span<const float> logits);

} // namespace tessera::learned

#ifndef TESSERA_COMPILED
#include "tessera/learned/ppo.inl"
#endif

#include "tessera/base/end_header.inl"
