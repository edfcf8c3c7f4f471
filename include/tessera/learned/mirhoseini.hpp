// SPDX-License-Identifier: Apache-2.0
// The learner of Mirhoseini et al. (ICML 2017): a recurrence reads groups, another one emits their devices, trained by
// REINFORCE on one graph or on several in turn.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/typed_trainer.hpp"
#include "tessera/learned/group_graph.hpp"
#include "tessera/learned/learning_progress.hpp"
#include "tessera/learned/mirhoseini_network.hpp"
#include "tessera/learned/mirhoseini_options.hpp"
#include "tessera/net/paths.hpp"

#include <deque>

namespace tessera::learned {

/// A policy in training, on one thread of this process. Graphs are added and called by their numbers. Groups are chains
/// (search::placement::chain_groups), in place of the paper's co-location by hand, as recalled. The same options and
/// calls give the same numbers, bit for bit.
template <mirhoseini_shape S, class B = default_backend<mirhoseini_network<S>>>
class mirhoseini {
public:
    using network = mirhoseini_network<S>;
    using step_network = mirhoseini_step_network<S>;
    using evaluator = search::placement::evaluator;
    using found = search::placement::found;

    explicit mirhoseini(const mirhoseini_options& o = {})
        : options_(checked(o)), pick_{o.seed},
          trainer_(
              local_devices(1), strategy(describe<network>(o.samples).view()), o.samples,
              optimizer(adam{.learning_rate = static_cast<float>(o.learning_rate)}, static_cast<float>(o.clip_norm)),
              {.seed = o.seed}),
          stepper_(local_devices(1), strategy(describe<step_network>(o.samples).view()), o.samples, sgd{},
                   {.for_training = false}) {}

    /// The number of a graph on its machine, which both must outlive the policy. `together`: what is placed as one;
    /// empty: chains. Throws tessera::error where there are more groups than the policy takes.
    int add(const search::placement::cost_graph& g, const cluster& on, search::placement::grouping together = {}) {
        evaluator e(g, on);
        const search::placement::grouping groups =
            together.of.empty() ? search::placement::chain_groups(g, e.order(), S.groups) : std::move(together);
        if (groups.count > S.groups || e.devices() != S.devices) {
            throw error("tessera: the graph '" + g.name + "' has " + std::to_string(groups.count) +
                        " groups to be placed on " + std::to_string(e.devices()) + " devices, and the policy takes " +
                        std::to_string(S.groups) + " groups and " + std::to_string(S.devices) +
                        " devices; make mirhoseini_shape larger");
        }
        std::vector<float> features = detail::features_of(group_graph_of(e, groups), S.groups);
        const double unit = reward_unit(e);
        members_.push_back({std::move(e), groups, std::move(features), unit});
        progress_.graphs.emplace_back();
        return static_cast<int>(members_.size()) - 1;
    }

    /// Draws options.samples placements, prices them and takes a step. Returns the mean reward.
    double update(int graph) {
        added_graph& m = member(graph);
        const auto count = to_size(options_.samples);
        const sequences drawn = emit(graph, count, pick_, false);
        graph_progress& now = progress_.graphs[to_size(graph)];
        std::vector<double> rewards;
        for (std::size_t k = 0; k < count; ++k) {
            const found f = priced(graph, drawn.devices(k, m.groups.count));
            rewards.push_back(reward_of({f.step, f.excess_bytes}, m.unit, options_.infeasible));
            now.note(f);
        }
        const double mean = mean_of(rewards);
        // The moving average begins with the first batch. It lies where GDP has a sum.
        now.baseline.sum =
            now.baseline.count == 0 ? mean : options_.kept * now.baseline.sum + (1 - options_.kept) * mean;
        now.baseline.count += options_.samples;
        learn(m, drawn, advantages_of(rewards, now.baseline.sum, options_.scaled));
        progress_.random = pick_.state;
        return mean;
    }
    /// So many updates, of these graphs in turn.
    void train(const std::vector<int>& graphs, int updates) {
        for (int i = 0; i < updates && !graphs.empty(); ++i) {
            update(graphs[to_size(i) % graphs.size()]);
        }
    }

    /// The placement of the most likely devices, one after the other.
    found greedy(int graph) {
        search::random_numbers none{1};
        return priced(graph, emit(graph, 1, none, true).devices(0, member(graph).groups.count));
    }
    /// The best of so many placements that are drawn from the policy, which learns nothing from them. Throws
    /// tessera::error for fewer than 1.
    found best_of(int graph, int count, std::uint64_t seed = 1) {
        require_draws("", count);
        search::random_numbers own{seed};
        found best;
        for (int made = 0; made < count; made += options_.samples) {
            const auto batch = to_size(std::min(options_.samples, count - made));
            const sequences drawn = emit(graph, batch, own, false);
            for (std::size_t k = 0; k < batch; ++k) {
                found f = priced(graph, drawn.devices(k, member(graph).groups.count));
                best = best.where.empty() || f.better_than(best) ? std::move(f) : best;
            }
        }
        best.evaluations = count;
        return best;
    }
    /// The best placement of a graph that updates have drawn, with the number of all that they have drawn.
    found best(int graph) {
        member(graph);
        const graph_progress& p = progress_.graphs[to_size(graph)];
        return {p.where, p.step, p.excess_bytes, p.baseline.count};
    }

    /// The largest difference of a logit of drawing, step by step, from that of training, all steps at once.
    double check_steps(int graph) {
        search::random_numbers own{1};
        const sequences drawn = emit(graph, 1, own, false);
        const std::vector<float> whole = trainer_.predict(prediction_inputs(member(graph), drawn)).values;
        double most = 0;
        for (std::size_t i = 0; i < drawn.logits.size(); ++i) {
            most = std::max(most, std::abs(static_cast<double>(whole[i]) - static_cast<double>(drawn.logits[i])));
        }
        return most;
    }

    /// With a checkpoint of trained() training goes on bit for bit, in a learner to which the same graphs were added.
    const learning_progress& progress() const { return progress_; }
    void resume(const learning_progress& p) {
        require_same_graphs("", p.graphs.size(), members_.size());
        progress_ = p;
        pick_.state = p.random;
        stale_ = true;
    }
    trainer<network, B>& trained() { return trainer_; }
    int groups(int graph) { return member(graph).groups.count; }

private:
    using parts = mirhoseini_parts<S>;
    static constexpr auto steps = to_size(S.groups);

    struct added_graph {
        evaluator prices;
        search::placement::grouping groups;
        std::vector<float> features;
        double unit = 1;
    };
    /// Devices of several sequences, S.groups each, and what the decoder read before each.
    struct sequences {
        std::vector<std::int32_t> choices;
        std::vector<std::int32_t> previous;
        std::vector<float> logits; ///< of the first sequence, by group

        std::vector<int> devices(std::size_t k, int count) const {
            const auto first = choices.begin() + static_cast<std::ptrdiff_t>(k * steps);
            return {first, first + count};
        }
    };

    static const mirhoseini_options& checked(const mirhoseini_options& o) {
        require(o);
        return o;
    }
    added_graph& member(int graph) {
        require_graph("", graph, members_.size());
        return members_[to_size(graph)];
    }
    static input_data numbers(const std::vector<float>& x) { return std::span<const float>(x); }
    static input_data integers(const std::vector<std::int32_t>& x) { return std::span<const std::int32_t>(x); }
    template <class T>
    static std::vector<T> repeated(const std::vector<T>& x, std::size_t count) {
        std::vector<T> all;
        for (std::size_t k = 0; k < count; ++k) {
            all.insert(all.end(), x.begin(), x.end());
        }
        return all;
    }

    std::vector<input_data> prediction_inputs(const added_graph& m, const sequences& drawn) {
        one_length_ = {m.groups.count};
        return {numbers(m.features), integers(one_length_), integers(drawn.previous)};
    }

    /// The decoder's parameters are those of training.
    void bring_weights() {
        const graph_view from = trainer_.graph();
        const graph_view to = stepper_.graph();
        for (int p = 0; p < to.parameter_count && stale_; ++p) {
            for (int q = 0; q < from.parameter_count; ++q) {
                if (parameter_path_of(from, q) == parameter_path_of(to, p)) {
                    stepper_.values().set_parameter(p, trainer_.values().parameter(q));
                }
            }
        }
        stale_ = false;
    }

    /// Sequences of devices, drawn step by step, or the most likely ones.
    sequences emit(int graph, std::size_t count, search::random_numbers& pick, bool greedy) {
        const added_graph& m = member(graph);
        bring_weights();
        const std::vector<std::int32_t> length{m.groups.count};
        const std::vector<input_data> read{numbers(m.features), integers(length)};
        const std::vector<prediction> encoded = trainer_.values().predict(read, encoded_);
        const std::vector<float> all = repeated(encoded[0].values, count);
        const std::vector<std::int32_t> lengths = repeated(length, count);
        std::vector<float> hidden = repeated(encoded[1].values, count);
        sequences drawn;
        drawn.choices.assign(count * steps, 0);
        drawn.previous.assign(count * steps, S.devices);
        std::vector<std::int32_t> previous(count, S.devices);
        constexpr auto width = static_cast<std::ptrdiff_t>(S.hidden);
        for (std::ptrdiff_t t = 0; t < m.groups.count; ++t) {
            const auto at = encoded[0].values.begin() + t * width;
            const std::vector<float> same = repeated(std::vector<float>(at, at + width), count);
            const std::vector<input_data> inputs{numbers(all), integers(lengths), integers(previous), numbers(hidden),
                                                 numbers(same)};
            std::vector<prediction> made = stepper_.values().predict(inputs, made_);
            hidden = std::move(made[1].values);
            for (std::size_t k = 0; k < count; ++k) {
                const std::span<const float> row =
                    std::span<const float>(made[0].values).subspan(k * S.devices, S.devices);
                const int device = greedy ? most_likely(row) : draw(row, pick).choice;
                const std::size_t place = k * steps + to_size(t);
                drawn.previous[place] = previous[k];
                drawn.choices[place] = previous[k] = device;
                if (k == 0) {
                    drawn.logits.insert(drawn.logits.end(), row.begin(), row.end());
                }
            }
        }
        return drawn;
    }

    void learn(const added_graph& m, const sequences& drawn, const std::vector<double>& advantages) {
        const auto count = to_size(options_.samples);
        std::vector<float> weights(steps, 0);
        std::fill_n(weights.begin(), m.groups.count, static_cast<float>(S.groups) / static_cast<float>(m.groups.count));
        const double bonus = fallen(options_.entropy, 0, progress_.updates, options_.entropy_updates);
        const std::vector<float> features = repeated(m.features, count);
        const std::vector<std::int32_t> lengths(count, m.groups.count);
        const std::vector<float> of_rows = repeated(weights, count);
        const std::vector<float> bonuses(count, static_cast<float>(bonus));
        const std::vector<float> gains(advantages.begin(), advantages.end());
        const std::vector<input_data> inputs{numbers(features),       integers(lengths), integers(drawn.previous),
                                             integers(drawn.choices), numbers(gains),    numbers(of_rows),
                                             numbers(bonuses)};
        trainer_.step(std::span<const input_data>(inputs));
        ++progress_.updates;
        stale_ = true;
    }

    found priced(int graph, const std::vector<int>& devices) {
        added_graph& m = member(graph);
        return search::placement::priced(m.prices, search::placement::expand(m.groups, devices));
    }

    mirhoseini_options options_;
    search::random_numbers pick_;
    trainer<network, B> trainer_;
    trainer<step_network, B> stepper_;
    std::vector<int> encoded_{tensor_called<network, typename parts::memory>(),
                              tensor_called<network, typename parts::encoder::last_hidden>()};
    std::vector<int> made_{tensor_called<step_network, typename parts::logits>(),
                           tensor_called<step_network, typename parts::one_step::last_hidden>()};
    bool stale_ = true; ///< the decoder's weights are older than those of training
    std::deque<added_graph> members_;
    learning_progress progress_;
    std::vector<std::int32_t> one_length_;
};

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
