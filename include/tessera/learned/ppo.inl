// SPDX-License-Identifier: Apache-2.0
// Bodies of ppo.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/ppo.hpp"

namespace tessera::learned {

TESSERA_INLINE void require(const ppo_options& o) {
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

TESSERA_INLINE double most_memory(const search::placement::evaluator& e) {
    double most = 1;
    for (int d = 0; d < e.devices(); ++d) {
        most = std::max(most, static_cast<double>(e.capacity(d)));
    }
    return most;
}

TESSERA_INLINE double penalized_step(const search::placement::found& f, double unit, double memory, double penalty) {
    return static_cast<double>(f.step) / unit + penalty * static_cast<double>(f.excess_bytes) / memory;
}

TESSERA_INLINE double reward_unit(const search::placement::evaluator& e) {
    double sum = 0;
    for (int v = 0; v < e.graph().count(); ++v) {
        sum += search::placement::work_of(e, v);
    }
    return std::max(1.0, sum);
}

TESSERA_INLINE double reward_of(const search::placement::price& p, double unit, double infeasible) {
    return p.feasible() ? -std::sqrt(static_cast<double>(p.step) / unit) : infeasible;
}

TESSERA_INLINE double penalized_reward(const search::placement::found& f, double unit, double memory, double penalty) {
    return -std::sqrt(penalized_step(f, unit, memory, penalty));
}

TESSERA_INLINE void mean_so_far::add(double reward) {
    sum += reward;
    ++count;
}

TESSERA_INLINE double mean_of(std::span<const double> rewards) {
    mean_so_far all;
    for (const double r : rewards) {
        all.add(r);
    }
    return all.mean();
}

TESSERA_INLINE std::vector<double> advantages_of(std::span<const double> rewards, double baseline, bool scaled) {
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

TESSERA_INLINE drawn_choice draw(std::span<const float> logits, search::random_numbers& pick) {
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
        left -= std::exp(static_cast<double>(logits[to_size(d)]) - top);
        if (left < 0) {
            break;
        }
    }
    return {choice, static_cast<double>(logits[to_size(choice)]) - top - std::log(sum)};
}

TESSERA_INLINE int most_likely(std::span<const float> logits) {
    return static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
