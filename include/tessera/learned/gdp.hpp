// SPDX-License-Identifier: Apache-2.0
// GDP (Zhou et al. 2019, arXiv 1910.01578): a policy that places all nodes of a graph at once, trained by PPO on one
// graph or on several together.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/typed_trainer.hpp"
#include "tessera/learned/gdp_inputs.hpp"
#include "tessera/learned/learning_progress.hpp"
#include "tessera/learned/ppo.hpp"

#include <deque>

namespace tessera::learned {

/// A GDP policy in training, on one thread of this process. Graphs are added and called by their numbers; a graph that
/// was added can be placed without training on it (zero-shot) and trained on later (fine-tuning). The same options and
/// calls give the same numbers, bit for bit.
template <gdp_shape S, class B = default_backend<gdp_network<S>>>
class gdp {
public:
    using network = gdp_network<S>;
    using evaluator = search::placement::evaluator;
    using found = search::placement::found;

    explicit gdp(const ppo_options& o = {})
        : options_(checked(o)), pick_{o.seed},
          trainer_(
              local_devices(1), strategy(describe<network>(o.graphs).view()), o.graphs,
              optimizer(adam{.learning_rate = static_cast<float>(o.learning_rate)}, static_cast<float>(o.clip_norm)),
              {.seed = o.seed}) {}

    /// The number of a graph on its machine, which both must outlive the policy. Throws tessera::error where the policy
    /// is too small for it.
    int add(const search::placement::cost_graph& g, const cluster& on) {
        evaluator e(g, on);
        gdp_inputs x = gdp_inputs_of(S, e, options_.prior);
        const double unit = reward_unit(e);
        members_.push_back({std::move(e), std::move(x), unit});
        progress_.graphs.emplace_back();
        return static_cast<int>(members_.size()) - 1;
    }

    /// One batch: S.samples placements of each of these graphs are drawn and priced, and the policy takes `epochs`
    /// steps on them. Returns the mean reward. Throws tessera::error for no graph, more than options.graphs, or a
    /// number that is no graph's.
    double update(std::span<const int> graphs) {
        require_graphs(graphs);
        gather(graphs);
        const prediction logits = predicted();
        const double bonus = fallen(options_.entropy, 0, progress_.updates, options_.entropy_updates);
        batch_.bonuses.assign(graphs.size(), static_cast<float>(bonus));
        batch_.choices.assign(graphs.size() * samples * nodes, 0);
        batch_.before.assign(graphs.size() * samples * nodes, 0);
        batch_.advantages.clear();
        double sum = 0;
        for (std::size_t b = 0; b < graphs.size(); ++b) {
            std::vector<double> rewards;
            graph_progress& now = progress_.graphs[to_size(graphs[b])];
            for (std::size_t k = 0; k < samples; ++k) {
                const std::size_t first = (b * samples + k) * nodes;
                const found f = drawn(graphs[b], rows(logits, b), &batch_.choices[first], &batch_.before[first]);
                rewards.push_back(reward(member(graphs[b]), f));
                now.baseline.add(rewards.back());
                now.note(f);
                sum += rewards.back();
            }
            const double baseline =
                options_.baseline == ppo_baseline::mean_so_far ? now.baseline.mean() : mean_of(rewards);
            for (const double a : advantages_of(rewards, baseline, options_.scaled)) {
                batch_.advantages.push_back(static_cast<float>(a));
            }
        }
        const std::vector<input_data> inputs = training_inputs();
        for (int epoch = 0; epoch < options_.epochs; ++epoch) {
            trainer_.step(std::span<const input_data>(inputs));
        }
        ++progress_.updates;
        progress_.random = pick_.state;
        return sum / static_cast<double>(graphs.size() * samples);
    }
    double update(int graph) { return update(std::span<const int>(&graph, 1)); }

    /// So many batches of options.graphs graphs each, or of all where there are fewer, that are drawn from these.
    void train(const std::vector<int>& graphs, int updates) {
        require_numbers(graphs);
        for (int i = 0; i < updates; ++i) {
            std::vector<int> batch = graphs;
            const std::size_t count = std::min(batch.size(), to_size(options_.graphs));
            for (std::size_t k = 0; k < count; ++k) {
                std::swap(batch[k], batch[k + to_size(pick_(static_cast<int>(batch.size() - k)))]);
            }
            batch.resize(count);
            update(batch);
        }
        progress_.random = pick_.state;
    }

    /// The placement of the most likely choices.
    found greedy(int graph) {
        const prediction logits = predict_one(graph);
        std::vector<int> device;
        for (const int leader : member(graph).inputs.leader) {
            device.push_back(most_likely(row(rows(logits, 0), leader)));
        }
        return priced(graph, device);
    }

    /// The best of so many placements that are drawn from the policy, which learns nothing from them. Throws
    /// tessera::error for fewer than 1.
    found best_of(int graph, int count, std::uint64_t seed = 1) {
        require_draws("GDP: ", count);
        const prediction logits = predict_one(graph);
        search::random_numbers own{seed};
        found best;
        for (int k = 0; k < count; ++k) {
            found f = drawn(graph, rows(logits, 0), nullptr, nullptr, own);
            best = k == 0 || f.better_than(best) ? std::move(f) : best;
        }
        best.evaluations = count;
        return best;
    }

    /// The best placement of a graph that updates have drawn, with the number of all that they have drawn.
    found best(int graph) const {
        require_numbers({&graph, 1});
        const graph_progress& p = progress_.graphs[to_size(graph)];
        return {p.where, p.step, p.excess_bytes, p.baseline.count};
    }

    /// The logits of a graph's rows, which are its nodes in topological order: S.nodes * S.devices numbers, of which
    /// those behind its nodes mean nothing.
    std::vector<float> logits(int graph) { return predict_one(graph).values; }

    /// The weights of a policy of the same parameters, to begin with.
    template <class Other>
    void take_weights(Other& other) {
        copy_weights(trainer_, other.trained());
    }

    /// All of the training that the trainer does not have; with a checkpoint of trained() it goes on bit for bit, in a
    /// learner to which the same graphs were added.
    const learning_progress& progress() const { return progress_; }
    void resume(const learning_progress& p) {
        require_same_graphs("GDP: ", p.graphs.size(), members_.size());
        progress_ = p;
        pick_.state = p.random;
    }
    trainer<network, B>& trained() { return trainer_; }

private:
    static constexpr auto samples = to_size(S.samples);
    static constexpr auto nodes = to_size(S.nodes);
    static constexpr auto devices = to_size(S.devices);

    struct added_graph {
        evaluator prices;
        gdp_inputs inputs;
        double unit = 1;
    };
    struct batch_arrays : gdp_inputs {
        std::vector<std::int32_t> choices;
        std::vector<float> before;
        std::vector<float> advantages;
        std::vector<float> bonuses;
    };

    static const ppo_options& checked(const ppo_options& o) {
        require(o);
        return o;
    }
    void require_numbers(std::span<const int> graphs) const {
        for (const int g : graphs) {
            require_graph("GDP: ", g, members_.size());
        }
        if (graphs.empty()) {
            throw error("tessera: GDP: no graph to train on; give the number of one that was added");
        }
    }
    void require_graphs(std::span<const int> graphs) const {
        require_numbers(graphs);
        if (graphs.size() > to_size(options_.graphs)) {
            throw error("tessera: GDP: a batch of " + std::to_string(graphs.size()) + " graphs and the policy takes " +
                        std::to_string(options_.graphs) + "; make ppo_options::graphs larger");
        }
    }
    double reward(const added_graph& m, const found& f) const {
        return options_.memory_penalty > 0 ? penalized_reward(f, m.unit, most_memory(m.prices), options_.memory_penalty)
                                           : reward_of({f.step, f.excess_bytes}, m.unit, options_.infeasible);
    }
    added_graph& member(int graph) {
        require_numbers({&graph, 1});
        return members_[to_size(graph)];
    }

    /// The arrays of several graphs one after the other.
    void gather(std::span<const int> graphs) {
        const auto put = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
        static_cast<gdp_inputs&>(batch_) = {};
        for (const int g : graphs) {
            const gdp_inputs& x = member(g).inputs;
            put(batch_.features, x.features);
            put(batch_.senders, x.senders);
            put(batch_.receivers, x.receivers);
            put(batch_.shares, x.shares);
            put(batch_.visible, x.visible);
            put(batch_.prior, x.prior);
            put(batch_.weights, x.weights);
        }
    }
    static input_data numbers(const std::vector<float>& x) { return std::span<const float>(x); }
    static input_data integers(const std::vector<std::int32_t>& x) { return std::span<const std::int32_t>(x); }
    /// What the logits need, in the network's order: a network without a part has no use for its input.
    prediction predicted() {
        std::vector<input_data> all{numbers(batch_.features), integers(batch_.senders), integers(batch_.receivers)};
        if (S.superposition) {
            all.push_back(numbers(batch_.shares));
        }
        if (S.attention) {
            all.push_back(numbers(batch_.visible));
        }
        all.push_back(numbers(batch_.prior));
        return trainer_.predict(all);
    }
    prediction predict_one(int graph) {
        gather({&graph, 1});
        return predicted();
    }
    std::vector<input_data> training_inputs() const {
        return {numbers(batch_.features), integers(batch_.senders), integers(batch_.receivers),
                numbers(batch_.shares),   numbers(batch_.visible),  numbers(batch_.prior),
                integers(batch_.choices), numbers(batch_.before),   numbers(batch_.advantages),
                numbers(batch_.weights),  numbers(batch_.bonuses)};
    }

    static std::span<const float> rows(const prediction& logits, std::size_t b) {
        return std::span<const float>(logits.values).subspan(b * nodes * devices, nodes * devices);
    }
    static std::span<const float> row(std::span<const float> rows, int r) {
        return rows.subspan(to_size(r) * devices, devices);
    }
    found drawn(int graph, std::span<const float> logits, std::int32_t* choices, float* before) {
        return drawn(graph, logits, choices, before, pick_);
    }
    found drawn(int graph, std::span<const float> logits, std::int32_t* choices, float* before,
                search::random_numbers& pick) {
        const std::vector<int>& leader = member(graph).inputs.leader;
        std::vector<int> device(leader.size(), 0);
        for (std::size_t i = 0; i < leader.size(); ++i) {
            const auto first = to_size(leader[i]);
            if (first != i) {
                device[i] = device[first];
                continue;
            }
            const drawn_choice c = draw(row(logits, leader[i]), pick);
            device[i] = c.choice;
            if (choices != nullptr) {
                choices[i] = c.choice;
                before[i] = static_cast<float>(c.log_probability);
            }
        }
        return priced(graph, device);
    }
    /// The price of devices by row.
    found priced(int graph, const std::vector<int>& device) {
        evaluator& e = member(graph).prices;
        search::placement::assignment where(device.size());
        for (std::size_t i = 0; i < device.size(); ++i) {
            where[to_size(e.order().order[i])] = device[i];
        }
        return search::placement::priced(e, std::move(where));
    }

    ppo_options options_;
    search::random_numbers pick_;
    trainer<network, B> trainer_;
    std::deque<added_graph> members_;
    learning_progress progress_;
    batch_arrays batch_;
};

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
