// SPDX-License-Identifier: Apache-2.0
// What tells rounding from faults: one device in double, nudged by what floats lose, and how far a training may be from
// it.
#pragma once

#include "random_case.hpp"
#include "same_numbers.hpp"

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

/// The first samples of a batch.
inline std::vector<ts::input_data> first_samples(const ts::graph_view& g, const batch_data& data, ts::index_t count) {
    std::vector<ts::input_data> result;
    for (std::size_t k = 0; k < data.tensors.size(); ++k) {
        const ts::shape& x = g.tensors[data.tensors[k]].extents;
        const auto n = ts::to_size(x.volume() / x[0] * count);
        if (data.labels[k].empty()) {
            result.emplace_back(std::span<const float>(data.numbers[k]).first(n));
        } else {
            result.emplace_back(std::span<const std::int32_t>(data.labels[k]).first(n));
        }
    }
    return result;
}

/// One device in double; what it starts from, data too, off by a share of up to `nudge` that is drawn for every number;
/// with `zeros`, zeros by as much.
class nudged_oracle {
public:
    /// `s`, where it is not null, says which samples batch norms take their statistics over.
    nudged_oracle(const random_case& c, const batch_data& data, int micro_batches, double nudge, std::uint64_t draw,
                  const ts::strategy* s = nullptr, bool zeros = false)
        : how_(c.how), small_(ts::with_batch(c.network.view(), c.short_batch)), full_network_(c.network.view()),
          short_network_(small_.view()), draw_(ts::op::mix(draw)), nudge_(nudge), zeros_(zeros) {
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
        const double by = nudge_ * (static_cast<double>(draw_ >> 40U) / static_cast<double>(1U << 23U) - 1);
        return x == 0 && zeros_ ? by : x * (1 + by);
    }

    void feed(const ts::graph_view& g, const batch_data& data) {
        for (std::size_t k = 0; k < data.tensors.size(); ++k) {
            const int t = data.tensors[k];
            const auto n = ts::to_size(small_.tensors[ts::to_size(t)].extents.volume());
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
        const std::vector<double>& logits = full_network_.values[ts::to_size(g.ops[op].inputs[0])];
        const auto& labels = full_network_.labels[ts::to_size(g.ops[op].inputs[1])];
        const int axis = ts::op::channel_dimension(x.rank);
        const ts::index_t blocks = axis == 1 ? x[0] : x[0] * x[1];
        const ts::index_t pixels = x.volume() / blocks / x[axis];
        for (ts::index_t n = 0; n < blocks; ++n) {
            for (ts::index_t q = 0; q < pixels; ++q) {
                const auto at = [&](ts::index_t c) { return logits[ts::to_size((n * x[axis] + c) * pixels + q)]; };
                const ts::index_t label = labels[ts::to_size(n * pixels + q)];
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
    bool zeros_;
};

/// The same of a session.
template <class Session>
training_record train(Session& session, const random_case& c, const batch_data& data, int steps_per_plan) {
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
    if (steps_per_plan <= 2) {
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
    if (steps_per_plan == 1) {
        note_gradients();
    }
    for (int p = 0; p < g.parameter_count; ++p) {
        const std::vector<float> f = session.parameter(p);
        r.change.emplace_back(f.begin(), f.end());
        for (std::size_t i = 0; i < f.size(); ++i) {
            r.change.back()[i] -= static_cast<double>(start[ts::to_size(p)][i]);
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

/// How far a training is from another: largest relative differences. Gradients of a parameter are compared with their
/// own norm, but at least with a hundredth of the largest one's: a bias before a batch norm has a gradient of 0, and in
/// floats what terms as large as the others leave.
struct record_difference {
    double loss = 0;
    double gradient = 0;
    double change = 0;
    double largest() const { return std::max({loss, gradient, change}); }
};

/// Largest relative difference of two lists of vectors, by parameter; one shorter than `least` counts as that long.
inline double largest_difference(const ts::graph_view& g, const std::vector<std::vector<double>>& a,
                                 const std::vector<std::vector<double>>& b, bool trained_only, double least) {
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
        const auto i = ts::to_size(p);
        if (!b[i].empty() && (!trained_only || g.parameters[p].trained)) {
            const double own = relative(a[i], b[i], std::max(1e-2 * largest, least));
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
        // Where all gradients are 0, terms near 1 cancel, and floats leave 1e-10 of them (network 104335).
        d.gradient = std::max(d.gradient, largest_difference(g, a.gradients[i], b.gradients[i], true, 1e-5));
    }
    d.change = largest_difference(g, a.change, b.change, false, 1e-9);
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

    /// 1e-4, and thirty times what the last bits of weights and data do; further, where a few bits more make a jump (a
    /// maximum, a relu of what is exactly 0 without rounding, a route to another expert) as large.
    finding judge(const training_record& seen, record_difference& d) {
        d = difference_of(case_.network.view(), seen, expected_);
        const bool counted = seen.rows == expected_.rows && seen.least_correct >= expected_.least_correct &&
                             seen.least_correct <= expected_.most_correct;
        for (std::uint64_t draw = 10; draw < 34 && is_over(d); ++draw) {
            nudge(draw, std::ldexp(1.0, draw < 22 ? -21 : -19), draw % 2 == 1);
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
    void nudge(std::uint64_t draw, double size, bool zeros = false) {
        learn(difference_of(case_.network.view(),
                            nudged_oracle(case_, data_, micro_batches_, size, draw, strategy_, zeros).seen, expected_));
    }

    const random_case& case_;
    const batch_data& data_;
    int micro_batches_;
    const ts::strategy* strategy_;
    training_record expected_;
    record_difference rounding_;
    bool finite_ = false;
};

} // namespace test_support
