// SPDX-License-Identifier: Apache-2.0
// Placeto (Addanki et al. 2019, arXiv 1906.08879): a policy that improves a placement group by group, trained by
// REINFORCE on one graph or on several.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/typed_trainer.hpp"
#include "tessera/learned/placeto_graph.hpp"
#include "tessera/learned/placeto_network.hpp"
#include "tessera/learned/placeto_progress.hpp"
#include "tessera/learned/ppo.hpp"

namespace tessera::learned {

/// A Placeto policy in training, on one thread of this process. Graphs are added and called by their numbers; a graph
/// that was added can be placed without training on it (zero-shot) and trained on later (fine-tuning). The same options
/// and calls give the same numbers, bit for bit.
template <placeto_shape S, class B = default_backend<placeto_network<S>>>
class placeto {
public:
    using network = placeto_network<S>;
    using found = search::placement::found;

    explicit placeto(const placeto_options& o = {})
        : options_(checked(o)), pick_{o.seed},
          trainer_(
              local_devices(1), strategy(describe<network>(most_rows()).view()), most_rows(),
              optimizer(adam{.learning_rate = static_cast<float>(o.learning_rate)}, static_cast<float>(o.clip_norm)),
              {.seed = o.seed}) {
        progress_.random = pick_.state;
    }

    /// The number of a graph on its machine, which both must outlive the policy, with what moves together (empty: what
    /// has to). Throws tessera::error where the policy is too small for it, or made for another number of devices.
    int add(const search::placement::cost_graph& g, const cluster& on, search::placement::grouping together = {}) {
        placeto_graph x(g, on, std::move(together));
        if (x.prices.devices() != S.devices) {
            throw error("tessera: Placeto: the graph '" + g.name + "' is to be placed on " +
                        std::to_string(x.prices.devices()) + " devices and the policy chooses among " +
                        std::to_string(S.devices) + "; make placeto_shape::devices as many");
        }
        require_fits(x.seen);
        graphs_.push_back(std::move(x));
        progress_.graphs.emplace_back();
        return static_cast<int>(graphs_.size()) - 1;
    }

    /// From now on the policy sees this graph of groups in place of a graph's own, such as one with other edges; prices
    /// stay what they are.
    void see(int graph, const group_graph& g) {
        if (g.count() != at(graph).groups.count) {
            throw error("tessera: Placeto: graph " + std::to_string(graph) + " has " +
                        std::to_string(at(graph).groups.count) + " groups, and what is to be seen has " +
                        std::to_string(g.count()) + "; give one of as many");
        }
        require_fits(g);
        at(graph).seen = g;
    }

    /// One batch of episodes, and one step on it. The episodes begin with random placements.
    placeto_update update(int graph) {
        placeto_graph& g = at(graph);
        placeto_graph_progress& now = progress_.graphs[to_size(graph)];
        const std::size_t steps = begin_episodes(g, now);
        for (std::size_t t = 0; t < steps; ++t) {
            step_all(g, now, t);
        }
        placeto_update seen;
        fill_advantages(now, seen);
        learn();
        for (const episode& e : episodes_) {
            seen.first_cost += e.costs.front() / options_.episodes;
            seen.last_cost += e.costs.back() / options_.episodes;
        }
        ++progress_.updates;
        progress_.random = pick_.state;
        return seen;
    }

    /// So many updates, each on the next of these graphs.
    void train(const std::vector<int>& graphs, int updates) {
        if (graphs.empty()) {
            throw error("tessera: Placeto: no graph to train on; give the number of one that was added");
        }
        for (int i = 0; i < updates; ++i) {
            update(graphs[to_size(progress_.updates) % graphs.size()]);
        }
    }

    /// Places a graph without learning from it. The evaluations are those of the placements after each pass.
    found place(int graph, const placeto_trial& how = {}) {
        placeto_graph& g = at(graph);
        if (how.passes < 1 || (!how.start.empty() && how.start.size() != g.seen.work.size())) {
            throw error("tessera: Placeto: a trial of " + std::to_string(how.passes) + " passes that starts with " +
                        std::to_string(how.start.size()) + " groups; give at least 1 pass and a device for each of " +
                        std::to_string(g.groups.count) + " groups");
        }
        search::random_numbers pick{how.seed};
        placement_state s = first_state(how.start.empty() ? g.at_random(pick) : how.start);
        found best;
        for (int pass = 0; pass < how.passes; ++pass) {
            s = first_state(s.device);
            for (s.current = 0; s.current < g.groups.count; ++s.current) {
                now_.clear();
                now_.add(g.seen, s);
                now_.pad_to(options_.episodes);
                const prediction p = trainer_.predict(inputs_of(now_));
                const auto row = std::span<const float>(p.values).first(choices);
                s.device[to_size(s.current)] = how.sampled ? draw(row, pick).choice : most_likely(row);
                s.done[to_size(s.current)] = 1;
            }
            found f = g.priced(s.device);
            best = pass == 0 || f.better_than(best) ? std::move(f) : best;
        }
        best.evaluations = how.passes;
        return best;
    }

    /// The best of so many trials that draw from the policy, each of one pass from a random start.
    found best_of(int graph, int count, std::uint64_t seed = 1) {
        require_draws("Placeto: ", count);
        found best;
        for (int k = 0; k < count; ++k) {
            found f = place(graph, {1, true, seed * 1'000'003 + static_cast<std::uint64_t>(k), {}});
            best = k == 0 || f.better_than(best) ? std::move(f) : best;
        }
        best.evaluations = count;
        return best;
    }

    /// The best placement of a graph that updates have seen, with the number of all that they have priced.
    const found& best(int graph) const {
        require_number(graph);
        return progress_.graphs[to_size(graph)].best;
    }

    /// The logits of a state: one for each device.
    std::vector<float> logits(int graph, const placement_state& s) {
        now_.clear();
        now_.add(at(graph).seen, s);
        now_.pad_to(options_.episodes);
        std::vector<float> all = trainer_.predict(inputs_of(now_)).values;
        all.resize(choices);
        return all;
    }

    /// The weights of another policy of the same shape, to begin with.
    template <class Other>
    void take_weights(Other& other) {
        copy_weights(trainer_, other.trained());
    }

    /// All of the training that the trainer does not have; with a checkpoint of trained() it goes on bit for bit, in a
    /// learner to which the same graphs were added.
    const placeto_progress& progress() const { return progress_; }
    void resume(const placeto_progress& p) {
        require_same_graphs("Placeto: ", p.graphs.size(), graphs_.size());
        progress_ = p;
        pick_.state = p.random;
    }
    trainer<network, B>& trained() { return trainer_; }
    placeto_graph& at(int graph) {
        require_number(graph);
        return graphs_[to_size(graph)];
    }

private:
    static constexpr auto choices = to_size(S.devices);

    struct episode {
        placement_state state;
        std::vector<double> costs; ///< before the first step, and after each
        std::vector<int> actions;
    };

    static const placeto_options& checked(const placeto_options& o) {
        require(o);
        return o;
    }
    index_t most_rows() const { return index_t{options_.episodes} * options_.passes * S.nodes; }
    void require_number(int graph) const { require_graph("Placeto: ", graph, graphs_.size()); }
    static void require_fits(const group_graph& g) {
        graph_batch(S.limits()).add(g, first_state(std::vector<int>(g.work.size(), 0)));
    }

    /// Random placements, priced; the number of steps of an episode.
    std::size_t begin_episodes(placeto_graph& g, placeto_graph_progress& now) {
        episodes_.clear();
        rows_.clear();
        coefficients_.clear();
        for (int k = 0; k < options_.episodes; ++k) {
            episode e{first_state(g.at_random(pick_)), {}, {}};
            e.costs.push_back(note(g, now, e.state.device));
            episodes_.push_back(std::move(e));
        }
        return to_size(options_.passes) * to_size(g.groups.count);
    }

    /// The cost of a placement, which is priced.
    double note(placeto_graph& g, placeto_graph_progress& now, const std::vector<int>& device) {
        found f = g.priced(device);
        const double cost = g.cost(f, options_.memory_penalty);
        const std::int64_t evaluations = now.best.evaluations + 1;
        if (now.best.where.empty() || f.better_than(now.best)) {
            now.best = std::move(f);
        }
        now.best.evaluations = evaluations;
        return cost;
    }

    void step_all(placeto_graph& g, placeto_graph_progress& now, std::size_t t) {
        const std::size_t current = t % g.seen.work.size();
        now_.clear();
        for (episode& e : episodes_) {
            e.state.current = static_cast<int>(current);
            if (current == 0) {
                e.state.done.assign(g.seen.work.size(), 0);
            }
            now_.add(g.seen, e.state);
            rows_.add(g.seen, e.state);
        }
        const prediction p = trainer_.predict(inputs_of(now_));
        for (std::size_t k = 0; k < episodes_.size(); ++k) {
            episode& e = episodes_[k];
            const auto row = std::span<const float>(p.values).subspan(k * choices, choices);
            const int action = draw(row, pick_).choice;
            int& device = e.state.device[current];
            double cost = e.costs.back();
            if (options_.all_actions) {
                cost = try_all(g, now, e, current, row, action);
            } else {
                coefficients_.resize(coefficients_.size() + choices, 0);
                cost = action == device ? cost : (device = action, note(g, now, e.state.device));
            }
            device = action;
            e.actions.push_back(action);
            e.state.done[current] = 1;
            e.costs.push_back(cost);
        }
    }

    /// Prices every device for the current group; returns the cost of the action.
    double try_all(placeto_graph& g, placeto_graph_progress& now, episode& e, std::size_t current,
                   std::span<const float> logits, int action) {
        const std::vector<double> probability = probabilities(logits);
        const int before = e.state.device[current];
        std::vector<double> costs;
        double expected = 0;
        for (int d = 0; d < S.devices; ++d) {
            e.state.device[current] = d;
            costs.push_back(d == before ? e.costs.back() : note(g, now, e.state.device));
            expected += probability[to_size(d)] * costs.back();
        }
        for (std::size_t d = 0; d < choices; ++d) {
            coefficients_.push_back(probability[d] * (expected - costs[d]));
        }
        return costs[to_size(action)];
    }
    static std::vector<double> probabilities(std::span<const float> logits) {
        const double top = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
        std::vector<double> p;
        double sum = 0;
        for (const float x : logits) {
            p.push_back(std::exp(static_cast<double>(x) - top));
            sum += p.back();
        }
        for (double& x : p) {
            x /= sum;
        }
        return p;
    }

    /// Returns less the mean of earlier ones at the same step (in the first update, of its own), at the devices that
    /// were chosen.
    void fill_advantages(placeto_graph_progress& now, placeto_update& seen) {
        const std::size_t steps = episodes_.front().actions.size();
        std::vector<std::vector<double>> returns;
        std::vector<double> mean(steps, 0);
        for (const episode& e : episodes_) {
            returns.push_back(returns_of(e.costs, options_.rewards, options_.discount));
            for (std::size_t t = 0; t < steps; ++t) {
                mean[t] += returns.back()[t] / options_.episodes;
            }
        }
        std::vector<double> baseline = mean;
        if (!now.returns.empty()) {
            baseline.assign(steps, 0);
            for (const std::vector<double>& past : now.returns) {
                for (std::size_t t = 0; t < steps; ++t) {
                    baseline[t] += past[t] / static_cast<double>(now.returns.size());
                }
            }
        }
        for (std::size_t k = 0; k < episodes_.size(); ++k) {
            for (std::size_t t = 0; t < steps; ++t) {
                const double off = returns[k][t] - mean[t];
                seen.return_variance += off * off / static_cast<double>(steps * episodes_.size());
                if (!options_.all_actions) {
                    const auto action = to_size(episodes_[k].actions[t]);
                    coefficients_[(t * episodes_.size() + k) * choices + action] = returns[k][t] - baseline[t];
                }
            }
        }
        if (!options_.all_actions) {
            now.returns.push_back(std::move(mean));
            if (now.returns.size() > to_size(options_.baseline_updates)) {
                now.returns.pop_front();
            }
        }
    }

    /// A step on all rows, whose gradient is the sum over the steps of an episode and the mean over episodes. Rows are
    /// filled up to a few sizes of batches, for each of which there is a plan; rows that fill up have coefficients of
    /// 0.
    void learn() {
        const int real = rows_.size();
        const int part = std::max(1, static_cast<int>(most_rows()) / 8);
        rows_.pad_to(std::min((real + part - 1) / part * part, static_cast<int>(most_rows())));
        double squares = 0;
        for (const double c : coefficients_) {
            squares += c * c;
        }
        const double rms = std::sqrt(squares / real);
        const double scale = static_cast<double>(rows_.size()) / options_.episodes;
        const double bonus = fallen(options_.entropy, 0, progress_.updates, options_.entropy_updates);
        std::vector<float> coefficients(to_size(rows_.size()) * choices, 0);
        for (std::size_t i = 0; i < coefficients_.size(); ++i) {
            coefficients[i] = static_cast<float>(coefficients_[i] * scale / (options_.scaled && rms > 0 ? rms : 1));
        }
        std::vector<float> bonuses(to_size(rows_.size()), 0);
        std::fill_n(bonuses.begin(), real, static_cast<float>(bonus * scale));
        std::vector<input_data> inputs = inputs_of(rows_);
        inputs.push_back(std::span<const float>(coefficients));
        inputs.push_back(std::span<const float>(bonuses));
        trainer_.set_learning_rate(
            fallen(options_.learning_rate, options_.last_rate, progress_.updates, options_.rate_updates));
        trainer_.step(std::span<const input_data>(inputs));
    }

    placeto_options options_;
    search::random_numbers pick_;
    trainer<network, B> trainer_;
    std::deque<placeto_graph> graphs_;
    placeto_progress progress_;
    std::vector<episode> episodes_;
    std::vector<double> coefficients_; ///< of real rows
    graph_batch now_{S.limits()};      ///< the states of all episodes
    graph_batch rows_{S.limits()};     ///< all states of all episodes
};

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
