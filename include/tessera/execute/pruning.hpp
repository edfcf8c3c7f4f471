// SPDX-License-Identifier: Apache-2.0
// Magnitude pruning: the smallest weights of a parameter become zero and stay so, on a schedule. Kernels stay dense.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/base/finite.hpp"
#include "tessera/base/number_text.hpp"
#include "tessera/net/graph.hpp"
#include "tessera/op/optimizer.hpp"
#include "tessera/op/update_formulas.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

/// The share of weights that is pruned in step t: Zhu and Gupta, "To prune, or not to prune" (arXiv 1710.01878, section
/// 3), last + (first - last) * (1 - (t - begin) / (times * every))^3 in the steps begin, begin + every, ..., begin +
/// times * every, and in between what it was in the last of these. Steps count from 0, and what a step needs is pruned
/// before it. Throws tessera::error for shares outside of [0, 1], and for no steps.
struct pruning_schedule {
    double last = 0.5;       ///< share from step begin + times * every on
    std::uint64_t begin = 0; ///< step
    std::uint64_t every = 1; ///< steps
    std::uint64_t times = 1; ///< after the first
    double first = 0;        ///< share in step begin

    double operator()(std::uint64_t step) const;

private:
    void require_sense() const;
};

/// A weight that has been pruned is -0. No step makes that number while an optimizer prunes, so that weights that are 0
/// for other reasons go on.
TESSERA_IS_PRUNED(inline)

/// What is pruned where nothing else is said: what is trained and has two dimensions or more, so no biases and nothing
/// that norms have.
constexpr bool is_prunable(const parameter_node& p) { return p.trained && p.extents.rank >= 2; }

/// Which elements are pruned when floor(fraction * n) of n are to be, at least those that are already: of the others
/// the smallest by magnitude, of equal ones those that come first; what is not a number is taken for the largest. A
/// function of the weights alone, the same under every strategy.
std::vector<char> pruned_at(std::span<const float> weights, double fraction);

/// Prunes a parameter of a session to a share of its elements; what the optimizer keeps of them, averages too, becomes
/// 0. Weights that have been pruned stay pruned under any share. All processes of a group call it. Bytes: the parameter
///    and its states, once each, from every device and to it. Throws
/// tessera::error for an optimizer without pruning(), a share outside of [0, 1], a parameter that is not trained, and
/// while averages are in use.
template <class Session>
void prune(Session& s, int parameter, double fraction) {
    if (!s.update().prunes) {
        throw error("tessera: the optimizer keeps no weights pruned; make it with pruning(), as in "
                    "ts::optimizer(ts::adamw{}).pruning()");
    }
    if (!(fraction >= 0 && fraction <= 1)) {
        throw error("tessera: " + fixed_text(fraction) + " of a parameter is to be pruned; say a share from 0 to 1");
    }
    if (s.uses_ema()) {
        throw error("tessera: weights are to be pruned while averages of them are in use; call use_ema(false) first");
    }
    const std::vector<float> weights = s.parameter(parameter);
    if (!s.graph_of().parameters[parameter].trained) {
        throw error("tessera: parameter " + std::to_string(parameter) +
                    " is to be pruned and is not trained; prune weights that are");
    }
    const std::vector<char> mask = pruned_at(weights, fraction);
    const int states = s.update().state_count();
    std::vector<std::vector<float>> kept;
    if constexpr (requires { s.bring_to_all_nodes(); }) {
        if (states > 0) {
            s.bring_to_all_nodes();
        }
    }
    for (int k = 0; k < states && s.keeps(parameter, k); ++k) {
        kept.push_back(s.state_of(parameter, k)); // before any process writes
    }
    const auto write = [&](int state, std::vector<float> values, float zero) {
        for (std::size_t i = 0; i < mask.size(); ++i) {
            values[i] = mask[i] != 0 ? zero : values[i];
        }
        s.set_state(parameter, state, values);
    };
    write(-1, weights, -0.0F);
    for (std::size_t k = 0; k < kept.size(); ++k) {
        write(static_cast<int>(k), kept[k], 0.0F);
    }
}

/// The share of a parameter's elements that has been pruned. All processes of a group call it.
template <class Session>
double pruned_share(const Session& s, int parameter) {
    const std::vector<float> weights = s.parameter(parameter);
    const auto n = static_cast<double>(std::count_if(weights.begin(), weights.end(), is_pruned<float>));
    return n / static_cast<double>(weights.size());
}

namespace detail {

/// Prunes parameters of a session before its steps, on a schedule. Of weights that have been pruned so far it does not
/// change any.
class scheduled_pruning {
public:
    scheduled_pruning() = default;
    scheduled_pruning(const pruning_schedule& schedule, std::vector<int> parameters)
        : schedule_(schedule), parameters_(std::move(parameters)) {}

    /// Before the next `count` steps.
    template <class Session>
    void before(Session& s, std::size_t count) {
        if (parameters_.empty()) {
            return;
        }
        const std::uint64_t step = s.steps();
        const double share = schedule_(step);
        if (share > 0 && !is_done(share, step)) {
            for (const int p : parameters_) {
                tessera::prune(s, p, share);
            }
        }
        share_ = share;
        next_ = step + count;
    }

private:
    bool is_done(double wanted, std::uint64_t step) const {
        return !(wanted > share_ || wanted < share_) && step == next_;
    }

    pruning_schedule schedule_{};
    std::vector<int> parameters_{};
    double share_ = -1; ///< that they have been pruned to
    std::uint64_t next_ = 0;
};

} // namespace detail

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/pruning.inl"
#endif

#include "tessera/base/end_header.inl"
