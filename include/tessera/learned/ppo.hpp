// SPDX-License-Identifier: Apache-2.0
// How policies that place all nodes at once are trained: options, rewards, baselines, and choices drawn from logits. The loss is in ppo_loss.hpp.
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

/// What PPO does with a batch of graphs. The clip and the number of placements of each graph are the network's (gdp_shape).
struct ppo_options {
    int graphs = 1; ///< most graphs of a batch
    int epochs = 4; ///< steps of training on the placements of one batch
    double learning_rate = 2e-3;
    double clip_norm = 1;      ///< of all gradients together
    double entropy = 0.02;     ///< coefficient of the bonus, which falls to 0 in a straight line
    int entropy_updates = 200; ///< over so many updates
    double infeasible = -10;   ///< reward of a placement that does not fit (Zhou et al. 2019, as recalled)
    /// Above 0 a placement that does not fit has the reward of a step that is longer by this times the memory that it lacks over a device's (Placeto's penalty), in
    /// place of one for all: so the policy learns from those, too, which lack less.
    double memory_penalty = 0;
    /// The mean so far lags behind a policy that gets better, and one placement that did not fit lowers it for long: then all that a policy draws looks good,
    /// and little is learned. So the mean of the batch is the default.
    ppo_baseline baseline = ppo_baseline::batch_mean;
    /// Advantages are divided by their root mean square over the placements of their graph in the batch; not in the paper as far as recalled.
    bool scaled = true;
    /// Added to the logits of the contiguous placement in parts of equal time, to tell devices apart that are alike: with such devices every permutation of a
    /// policy is as good, and the uniform policy is a stationary point. 0: nothing is added, and the random initial weights alone tell them apart.
    double prior = 0;
    std::uint64_t seed = 1;
};

/// Throws tessera::error that says which option makes no sense.
inline void require(const ppo_options& o) {
    const option_check check("PPO");
    if (o.graphs < 1) {
        check.refuse("a batch of " + std::to_string(o.graphs) + " graphs; give at least 1");
    }
    if (o.epochs < 1) {
        check.refuse(std::to_string(o.epochs) + " epochs for a batch; give at least 1");
    }
    check.rate(o.learning_rate);
    check.clip_norm(o.clip_norm);
    check.entropy(o.entropy, o.entropy_updates);
    check.infeasible(o.infeasible);
    if (!is_finite(o.memory_penalty) || o.memory_penalty < 0) {
        check.refuse("a penalty of " + fixed_text(o.memory_penalty) +
                     " for missing memory; give a finite number above 0, or 0 for one reward of all that does not fit");
    }
    if (!is_finite(o.prior)) {
        check.refuse("a prior that is not a finite number; 0 adds nothing");
    }
}

/// Bytes of the device that has the most.
inline double most_memory(const search::placement::evaluator& e) {
    double most = 1;
    for (int d = 0; d < e.devices(); ++d) {
        most = std::max(most, static_cast<double>(e.capacity(d)));
    }
    return most;
}

/// A step over `unit` (ns), plus `penalty` times the memory that is missing over `memory` (bytes).
inline double penalized_step(const search::placement::found& f, double unit, double memory, double penalty) {
    return static_cast<double>(f.step) / unit + penalty * static_cast<double>(f.excess_bytes) / memory;
}

/// The time that rewards are measured in: the work of all nodes on the first device, ns.
inline double reward_unit(const search::placement::evaluator& e) {
    double sum = 0;
    for (int v = 0; v < e.graph().count(); ++v) {
        sum += search::placement::work_of(e, v);
    }
    return std::max(1.0, sum);
}

/// -sqrt(step / unit), and `infeasible` where the placement does not fit (Mirhoseini et al. 2017 and Zhou et al. 2019, as recalled, without the unit).
inline double reward_of(const search::placement::price& p, double unit, double infeasible) {
    return p.feasible() ? -std::sqrt(static_cast<double>(p.step) / unit) : infeasible;
}

/// -sqrt of the step over `unit` and of `penalty` times the missing memory over `memory`: what does not fit is the worse the more it lacks (ours).
inline double penalized_reward(const search::placement::found& f, double unit, double memory, double penalty) {
    return -std::sqrt(penalized_step(f, unit, memory, penalty));
}

/// The mean of all rewards so far, those of this batch among them: the baseline of a graph.
struct mean_so_far {
    double sum = 0;
    std::int64_t count = 0;

    void add(double reward) {
        sum += reward;
        ++count;
    }
    double mean() const { return count > 0 ? sum / static_cast<double>(count) : 0; }
};

inline double mean_of(std::span<const double> rewards) {
    mean_so_far all;
    for (const double r : rewards) {
        all.add(r);
    }
    return all.mean();
}

/// Rewards less their baseline; divided by their root mean square where `scaled`, unless they are all 0.
inline std::vector<double> advantages_of(std::span<const double> rewards, double baseline, bool scaled) {
    std::vector<double> all(rewards.begin(), rewards.end());
    double squares = 0;
    for (double& a : all) {
        a -= baseline;
        squares += a * a;
    }
    const double scale = std::sqrt(squares / static_cast<double>(std::max<std::size_t>(1, all.size())));
    for (double& a : all) {
        a /= scaled && scale > 0 ? scale : 1;
    }
    return all;
}

/// A choice and the logarithm of its probability.
struct drawn_choice {
    int choice = 0;
    double log_probability = 0;
};

/// Draws from the softmax of a row of logits.
inline drawn_choice draw(std::span<const float> logits, search::random_numbers& pick) {
    double top = static_cast<double>(logits[0]);
    for (const float x : logits) {
        top = std::max(top, static_cast<double>(x));
    }
    double sum = 0;
    for (const float x : logits) {
        sum += std::exp(static_cast<double>(x) - top);
    }
    double left = pick.number() * sum;
    int choice = 0;
    for (int d = 0; d < static_cast<int>(logits.size()); ++d) {
        choice = d;
        left -= std::exp(static_cast<double>(logits[static_cast<std::size_t>(d)]) - top);
        if (left < 0) {
            break;
        }
    }
    return {choice, static_cast<double>(logits[static_cast<std::size_t>(choice)]) - top - std::log(sum)};
}

/// The choice with the largest logit, of equal ones the first.
inline int most_likely(std::span<const float> logits) {
    return static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
