// SPDX-License-Identifier: Apache-2.0
// Law 6 over random networks under random strategies, schedules and policies, with short batches and evaluations between the steps; and what
// tells rounding from faults.
#pragma once

#include "random_network.hpp"
#include "random_schedule.hpp"
#include "same_numbers.hpp"

#include "tessera/schedule/parameter_average.hpp"

#include <optional>
#include <string>
#include <vector>

namespace test_support {

/// What a training shows of itself: two steps, an evaluation, a step and an evaluation of a short batch, a third step.
struct training_record {
    std::vector<double> losses;                              ///< in that order
    std::vector<std::vector<std::vector<double>>> gradients; ///< of the last step of the first two, and of the third
    std::vector<std::vector<double>> change;                 ///< of every parameter since the start
    ts::index_t rows = 0;                                    ///< of the evaluation
    ts::index_t least_correct = 0;
    ts::index_t most_correct = 0; ///< more where rounding decides
};

/// A random network with its data and how it is trained.
struct random_case {
    ts::graph network;
    ts::optimizer how;
    ts::index_t short_batch = 1;
    std::uint64_t seed = 0;

    explicit random_case(std::uint64_t number) : network(random_network(number)), seed(number) {
        random pick{ts::op::mix(number ^ 0x0b71ULL)};
        const int kind = pick(5);
        const float clip = pick(3) == 0 ? 0.05F : 0.0F;
        const float scale = pick(4) == 0 ? 64.0F : 1.0F;
        if (kind < 2) {
            how = ts::optimizer(ts::sgd{.learning_rate = 0.05F, .weight_decay = kind == 1 ? 0.01F : 0.0F}, clip, scale);
        } else if (kind < 4) {
            how = ts::optimizer(ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F, .weight_decay = 0.01F}, clip, scale);
        } else {
            how = ts::optimizer(ts::adam{.learning_rate = 0.01F, .epsilon = 1e-3F}, clip, scale);
        }
        short_batch = 1 + pick(static_cast<int>(network.tensors[0].extents[0]));
    }
};

/// The first samples of a batch.
inline std::vector<ts::input_data> first_samples(const ts::graph_view& g, const batch_data& data, ts::index_t count) {
    std::vector<ts::input_data> result;
    for (std::size_t k = 0; k < data.tensors.size(); ++k) {
        const ts::shape& x = g.tensors[data.tensors[k]].extents;
        const auto n = static_cast<std::size_t>(x.volume() / x[0] * count);
        if (data.labels[k].empty()) {
            result.emplace_back(std::span<const float>(data.numbers[k]).first(n));
        } else {
            result.emplace_back(std::span<const std::int32_t>(data.labels[k]).first(n));
        }
    }
    return result;
}

/// One device in double; what it starts from, data too, off by a share of up to `nudge` that is drawn for every number.
class nudged_oracle {
public:
    /// `s`, where it is not null, says which samples batch norms take their statistics over.
    nudged_oracle(const random_case& c, const batch_data& data, int micro_batches, double nudge, std::uint64_t draw,
                  const ts::strategy* s = nullptr)
        : how_(c.how), small_(ts::with_batch(c.network.view(), c.short_batch)), full_network_(c.network.view()),
          short_network_(small_.view()), draw_(ts::op::mix(draw)), nudge_(nudge) {
        full_network_.micro_batches = short_network_.micro_batches = micro_batches;
        if (s != nullptr) {
            full_network_.replicas = replicas_of(c.network.view(), *s);
            short_network_.replicas = replicas_of(small_.view(), *s);
        }
        full_network_.initialize(c.seed);
        for (auto& p : full_network_.parameters) {
            for (double& x : p) {
                x = off(x);
            }
        }
        feed(c.network.view(), data);
        run_.seed = c.seed;
        run_.learning_rate = static_cast<double>(how_.learning_rate);
        const auto start = full_network_.parameters;
        step(full_network_);
        step(full_network_);
        seen.gradients.push_back(full_network_.gradients);
        seen.losses.push_back(full_network_.evaluate(run_));
        count_correct(c.network.view());
        short_network_.continue_from(full_network_);
        step(short_network_);
        seen.losses.push_back(short_network_.evaluate(run_));
        full_network_.continue_from(short_network_);
        step(full_network_);
        seen.gradients.push_back(full_network_.gradients);
        seen.change = full_network_.parameters;
        for (std::size_t p = 0; p < start.size(); ++p) {
            for (std::size_t i = 0; i < start[p].size(); ++i) {
                seen.change[p][i] -= start[p][i];
            }
        }
    }

    training_record seen;

private:
    double off(double x) {
        draw_ = ts::op::mix(draw_);
        return x * (1 + nudge_ * (static_cast<double>(draw_ >> 40U) / static_cast<double>(1U << 23U) - 1));
    }

    void feed(const ts::graph_view& g, const batch_data& data) {
        for (std::size_t k = 0; k < data.tensors.size(); ++k) {
            const int t = data.tensors[k];
            const auto n = static_cast<std::size_t>(small_.tensors[static_cast<std::size_t>(t)].extents.volume());
            if (data.labels[k].empty()) {
                std::vector<double> numbers(data.numbers[k].begin(), data.numbers[k].end());
                for (double& x : numbers) {
                    x = off(x);
                }
                full_network_.set(t, std::span<const double>(numbers));
                short_network_.set(t, std::span<const double>(numbers).first(n));
            } else {
                full_network_.set(t, std::span<const std::int32_t>(data.labels[k]));
                short_network_.set(t, std::span<const std::int32_t>(data.labels[k]).first(n));
            }
        }
        (void)g;
    }

    void step(ts::reference::network& n) {
        seen.losses.push_back(n.train_step(run_, how_));
        ++run_.step;
    }

    /// Rows of the first loss whose largest logit is the label's, with those that rounding decides.
    void count_correct(const ts::graph_view& g) {
        int op = 0;
        while (!g.is_loss(op)) {
            ++op;
        }
        const ts::shape& x = g.tensors[g.ops[op].inputs[0]].extents;
        const std::vector<double>& logits = full_network_.values[static_cast<std::size_t>(g.ops[op].inputs[0])];
        const auto& labels = full_network_.labels[static_cast<std::size_t>(g.ops[op].inputs[1])];
        const int axis = ts::op::channel_dimension(x.rank);
        const ts::index_t blocks = axis == 1 ? x[0] : x[0] * x[1];
        const ts::index_t pixels = x.volume() / blocks / x[axis];
        for (ts::index_t n = 0; n < blocks; ++n) {
            for (ts::index_t q = 0; q < pixels; ++q) {
                const auto at = [&](ts::index_t c) {
                    return logits[static_cast<std::size_t>((n * x[axis] + c) * pixels + q)];
                };
                const ts::index_t label = labels[static_cast<std::size_t>(n * pixels + q)];
                bool surely = true;
                bool perhaps = true;
                for (ts::index_t c = 0; c < x[axis]; ++c) {
                    const double near = 1e-3 * (std::abs(at(c)) + std::abs(at(label))) + 1e-6;
                    surely = surely && (c == label || at(label) > at(c) + near);
                    perhaps = perhaps && (c == label || at(label) > at(c) - near);
                }
                ++seen.rows;
                seen.least_correct += surely ? 1 : 0;
                seen.most_correct += perhaps ? 1 : 0;
            }
        }
    }

    ts::optimizer how_;
    ts::graph small_;
    ts::reference::network full_network_;
    ts::reference::network short_network_;
    ts::run_state run_;
    std::uint64_t draw_;
    double nudge_;
};

/// The same of a session.
template <class Session>
training_record train(Session& session, const random_case& c, const batch_data& data, int period) {
    training_record r;
    const ts::graph_view g = c.network.view();
    std::vector<std::vector<float>> start;
    for (int p = 0; p < g.parameter_count; ++p) {
        start.push_back(session.parameter(p));
    }
    const auto note_gradients = [&] {
        r.gradients.emplace_back();
        for (int p = 0; p < g.parameter_count; ++p) {
            const std::vector<float> f = session.gradient(p);
            r.gradients.back().emplace_back(f.begin(), f.end());
        }
    };
    const std::vector<std::vector<ts::input_data>> twice(2, data.inputs);
    r.losses = session.steps(twice);
    if (period <= 2) {
        note_gradients();
    }
    const ts::evaluation full = session.evaluate(data.inputs);
    r.losses.push_back(full.loss);
    r.rows = full.rows;
    r.least_correct = r.most_correct = full.correct;
    const std::vector<ts::input_data> few = first_samples(g, data, c.short_batch);
    r.losses.push_back(session.step(few));
    r.losses.push_back(session.evaluate(few).loss);
    r.losses.push_back(session.step(data.inputs));
    if (period == 1) {
        note_gradients();
    }
    for (int p = 0; p < g.parameter_count; ++p) {
        const std::vector<float> f = session.parameter(p);
        r.change.emplace_back(f.begin(), f.end());
        for (std::size_t i = 0; i < f.size(); ++i) {
            r.change.back()[i] -= static_cast<double>(start[static_cast<std::size_t>(p)][i]);
        }
        const auto copies = session.parameter_copies(p);
        for (const auto& a : copies) {
            for (const auto& b : copies) {
                if (a.first == b.first && a.second != b.second) {
                    throw ts::error("copies of parameter " + std::to_string(p) + " differ");
                }
            }
        }
    }
    return r;
}

/// How far a training is from another: largest relative differences. Gradients of a parameter are compared with their own norm, but at least
/// with a thousandth of the largest one's.
struct record_difference {
    double loss = 0;
    double gradient = 0;
    double change = 0;
    double largest() const { return std::max({loss, gradient, change}); }
};

/// Largest relative difference of two lists of vectors; those that `skip` says are left out.
inline double largest_difference(const ts::graph_view& g, const std::vector<std::vector<double>>& a,
                                 const std::vector<std::vector<double>>& b, bool trained_only) {
    double largest = 0;
    for (const std::vector<double>& x : b) {
        double squares = 0;
        for (const double v : x) {
            squares += v * v;
        }
        largest = std::max(largest, std::sqrt(squares));
    }
    double worst = 0;
    for (int p = 0; p < g.parameter_count; ++p) {
        const auto i = static_cast<std::size_t>(p);
        if (!b[i].empty() && (!trained_only || g.parameters[p].trained)) {
            const double own = relative(a[i], b[i], std::max(1e-3 * largest, 1e-9));
            worst = own > worst || std::isnan(own) ? own : worst;
        }
    }
    return worst;
}

inline record_difference difference_of(const ts::graph_view& g, const training_record& a, const training_record& b) {
    record_difference d;
    for (std::size_t i = 0; i < b.losses.size(); ++i) {
        d.loss = std::max(d.loss, std::abs(a.losses[i] - b.losses[i]) / std::max(std::abs(b.losses[i]), 1e-3));
    }
    for (std::size_t i = 0; i < a.gradients.size(); ++i) {
        d.gradient = std::max(d.gradient, largest_difference(g, a.gradients[i], b.gradients[i], true));
    }
    d.change = largest_difference(g, a.change, b.change, false);
    return d;
}

/// One device that runs some number of micro-batches, and how far rounding can take others from it.
class random_oracle {
public:
    /// `own`: the same network on one device of the reference backend, in floats.
    template <class Train>
    random_oracle(const random_case& c, const batch_data& data, int micro_batches, Train&& own,
                  const ts::strategy* s = nullptr)
        : case_(c), data_(data), micro_batches_(micro_batches), strategy_(s),
          expected_(nudged_oracle(c, data, micro_batches, 0, 0, s).seen) {
        finite_ = true;
        for (const double x : expected_.losses) {
            finite_ = finite_ && std::abs(x) < 1e4; // and is a number
        }
        if (!finite_) {
            return;
        }
        learn(difference_of(c.network.view(), own(), expected_));
        for (std::uint64_t draw = 1; draw < 4; ++draw) {
            nudge(draw, std::ldexp(1.0, -23));
        }
    }

    const training_record& expected() const { return expected_; }
    /// A loss or its gradients are beyond what floats can follow, or rounding alone changes the numbers.
    bool is_usable() const { return finite_ && rounding_.largest() < 1e-3; }

    enum class finding { right, decided_by_rounding, wrong };

    /// 1e-4, and thirty times what the last bits of weights and data do; further, where a few bits more make a jump (a maximum, a relu, a route to
    /// another expert) as large.
    finding judge(const training_record& seen, record_difference& d) {
        d = difference_of(case_.network.view(), seen, expected_);
        const bool counted = seen.rows == expected_.rows && seen.least_correct >= expected_.least_correct &&
                             seen.least_correct <= expected_.most_correct;
        for (std::uint64_t draw = 10; draw < 34 && is_over(d); ++draw) {
            nudge(draw, std::ldexp(1.0, draw < 22 ? -21 : -19));
        }
        if (is_over(d) || (!counted && rounding_.largest() < 1e-3)) {
            return finding::wrong;
        }
        return rounding_.largest() < 1e-3 ? finding::right : finding::decided_by_rounding;
    }

private:
    bool is_over(const record_difference& d) const {
        const auto over = [](double seen, double rounding) { return !(seen <= 1e-4 + 30 * rounding); };
        return over(d.loss, rounding_.loss) || over(d.gradient, rounding_.gradient) || over(d.change, rounding_.change);
    }
    void learn(const record_difference& d) {
        rounding_.loss = std::max(rounding_.loss, d.loss);
        rounding_.gradient = std::max(rounding_.gradient, d.gradient);
        rounding_.change = std::max(rounding_.change, d.change);
    }
    void nudge(std::uint64_t draw, double size) {
        learn(difference_of(case_.network.view(),
                            nudged_oracle(case_, data_, micro_batches_, size, draw, strategy_).seen, expected_));
    }

    const random_case& case_;
    const batch_data& data_;
    int micro_batches_;
    const ts::strategy* strategy_;
    training_record expected_;
    record_difference rounding_;
    bool finite_ = false;
};

/// A strategy for a random network, with what it is.
struct random_pair {
    ts::strategy how;
    int devices = 1;
    std::string what;
};

/// Random splits; or a random pipeline with any schedule or any legal order; with a random synchronization policy, parameters on one device,
/// averages of copies, communication lanes and plans of two steps now and then.
inline random_pair draw_pair(const ts::graph_view& g, const ts::optimizer& how, std::uint64_t seed, coverage& seen) {
    random pick{ts::op::mix(seed ^ 0x9a17ULL)};
    random_pair r;
    r.devices = 1 + pick(pick(4) == 0 ? 6 : 4);
    if (pick(3) == 0) {
        r.how = random_strategy(g, r.devices, seed, seen);
        r.what = "splits";
    } else {
        pipeline_case c = random_pipeline(g, r.devices, seed, seen);
        if (pick(4) == 0) {
            c.how.follow(random_order(stages_after(g, c.how, c.stages), 1 + pick(4), c.how.micro_batches, pick));
            c.how.statistics = ts::statistics_over::micro_batch;
            c.schedule = "any legal order";
        }
        r.how = static_cast<ts::strategy&&>(c.how);
        r.what = c.schedule;
    }
    r.how.overlap = pick(3) == 0;
    const int policy = pick(3) == 0 ? -1 : pick(13);
    if (policy == 11 && how.state_count() == 0 && how.clip_norm == 0) {
        r.how.sync = ts::schedule::parameter_average(1);
        r.what += ", averages";
    } else if (policy == 12) {
        r.how.parameters_on = pick(r.devices);
        r.what += ", parameters on one device";
    } else if (policy >= 0 && policy < 11) {
        auto all = small_policies(g, r.devices);
        r.how.sync = all[place(policy)].second;
        r.what += ", " + all[place(policy)].first;
    }
    r.how.period = r.how.parameters_on < 0 && pick(5) == 0 ? 2 : 1;
    r.what += " on " + std::to_string(r.devices) + " devices, " + std::to_string(r.how.micro_batches) +
              " micro-batches" + (r.how.period > 1 ? ", two steps at a time" : "");
    return r;
}

/// What became of pairs of networks and strategies.
struct pair_findings {
    int pairs = 0;
    int networks = 0;
    int unusable = 0;            ///< networks that rounding alone takes elsewhere, drawn anew
    int decided_by_rounding = 0; ///< pairs
    counts_by_name refused;      ///< by rule
    record_difference worst;     ///< of pairs that are right
    kind_counts kinds{};
    coverage splits;
    std::vector<std::string>
        rough; ///< pairs no further off than one device of the same backend: its kernels round more than others
    std::vector<std::string> wrong;
};

/// `pairs_each` pairs of the random network number `number`; `make(optimizer, pair)` makes a backend. Nothing where the network is not usable.
template <class Reference, class Make>
void try_pairs(std::uint64_t number, int pairs_each, pair_findings& found, Make make) {
    const random_case c(number);
    const ts::graph_view g = c.network.view();
    const batch_data data(g, number + 1);
    const auto session_record = [&](const ts::strategy& s, int devices, auto& backend) {
        ts::session_options options;
        options.seed = c.seed;
        options.keep_gradients = true;
        ts::workers threads(devices);
        ts::session<std::remove_reference_t<decltype(backend)>> session(g, s, devices, c.how, options, backend,
                                                                        threads);
        return train(session, c, data, s.period);
    };
    std::vector<std::pair<int, random_oracle>> known;
    const auto oracle_of = [&](int micro_batches) -> random_oracle& {
        for (auto& [count, oracle] : known) {
            if (count == micro_batches) {
                return oracle;
            }
        }
        known.emplace_back(micro_batches, random_oracle(c, data, micro_batches, [&] {
                               Reference backend(c.how);
                               ts::strategy s(g);
                               s.micro_batches = micro_batches;
                               return session_record(s, 1, backend);
                           }));
        return known.back().second;
    };
    known.reserve(16);
    if (!oracle_of(1).is_usable()) {
        ++found.unusable;
        return;
    }
    ++found.networks;
    count_kinds(g, found.kinds);
    for (int i = 0; i < pairs_each; ++i) {
        const std::uint64_t seed = number * 64 + static_cast<std::uint64_t>(i);
        const random_pair pair = draw_pair(g, c.how, seed, found.splits);
        const std::string name = "network " + std::to_string(number) + ", pair " + std::to_string(i) + ": " + pair.what;
        ++found.pairs;
        const int count = pair.how.statistics == ts::statistics_over::mini_batch ? 1 : pair.how.micro_batches;
        try {
            const bool apart = !replicas_of(g, pair.how).empty() || pair.how.statistics == ts::statistics_over::replica;
            std::optional<random_oracle> replicated;
            if (apart) {
                const auto off = [&] {
                    return nudged_oracle(c, data, count, std::ldexp(1.0, -23), 99, &pair.how).seen;
                };
                replicated.emplace(c, data, count, off, &pair.how);
            }
            random_oracle& expected = apart ? *replicated : oracle_of(count);
            if (!expected.is_usable()) {
                ++found.decided_by_rounding;
                continue;
            }
            auto backend = make(c.how, seed);
            const training_record seen = session_record(pair.how, pair.devices, backend);
            record_difference d;
            const random_oracle::finding f = expected.judge(seen, d);
            found.decided_by_rounding += f == random_oracle::finding::decided_by_rounding ? 1 : 0;
            if (f == random_oracle::finding::wrong) {
                auto alone = make(c.how, seed);
                ts::strategy s(g);
                s.micro_batches = count;
                record_difference own;
                expected.judge(session_record(s, 1, alone), own);
                const bool rough = own.largest() < 0.02 && d.loss <= 1e-4 + 10 * own.loss &&
                                   d.gradient <= 1e-4 + 10 * own.gradient && d.change <= 1e-4 + 10 * own.change;
                (rough ? found.rough : found.wrong)
                    .push_back(name + ": loss " + std::to_string(d.loss) + " gradient " + std::to_string(d.gradient) +
                               " change " + std::to_string(d.change) + " correct " +
                               std::to_string(seen.least_correct) + " of " +
                               std::to_string(expected.expected().least_correct) + " to " +
                               std::to_string(expected.expected().most_correct));
            } else if (f == random_oracle::finding::right) {
                found.worst.loss = std::max(found.worst.loss, d.loss);
                found.worst.gradient = std::max(found.worst.gradient, d.gradient);
                found.worst.change = std::max(found.worst.change, d.change);
            }
        } catch (const std::exception& e) {
            const std::string words = e.what();
            if (words.find("the plan is refused") != std::string::npos || words.find("tessera: ") != 0) {
                found.wrong.push_back(name + ": " + words);
            } else {
                found.refused.add(rule_of(words));
            }
        }
    }
}

} // namespace test_support
