// SPDX-License-Identifier: Apache-2.0
// Random lives of a session: steps, evaluations, predictions of any layers, short batches, pruning, averages of
// weights, checkpoints that are saved and loaded under another strategy, in random order over random networks and
// strategies. One device lives the same.
#pragma once

#include "policies.hpp"
#include "random_oracle.hpp"
#include "random_pair.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/pruning.hpp"
#include "tessera/io/files/checkpoint.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace test_support {

enum class life_event : std::uint8_t {
    step,
    short_step,
    steps, ///< as many as the strategy's plan covers, or others
    evaluate,
    short_evaluate,
    predict,        ///< what goes into the first loss
    predict_layers, ///< of one or two operators, of any number of samples
    prune,
    averages, ///< are used from now on, or no longer
    reload,   ///< saved, and loaded by a new session under another strategy
    set_parameter,
};
inline constexpr int life_events = 11;

constexpr const char* to_text(life_event e) {
    constexpr const char* names[] = {"step",           "short step", "steps",          "evaluate",
                                     "short evaluate", "predict",    "predict layers", "prune",
                                     "averages",       "reload",     "set parameter"};
    return names[static_cast<int>(e)];
}

/// One of a life's events, with the numbers that it takes.
struct life_entry {
    life_event what = life_event::step;
    int number = 1; ///< of samples, of steps, or of a parameter
    std::vector<int> wanted{};
    double fraction = 0;
};

/// A random network with an optimizer that often keeps averages and prunes, and what becomes of a session of it.
struct life_case {
    random_case made;
    batch_data data;
    bool for_training = true; ///< false: made for predictions alone
    bool fuses = false;       ///< under the case's strategies, not on one device
    std::vector<life_entry> events;

    explicit life_case(std::uint64_t number)
        : made(number), data(made.network.view(), number + 1), number_(number), pick_{ts::op::mix(number ^ 0x11feULL)} {
        made.how = pick_(2) == 0 ? made.how.averaging(0.9F) : made.how;
        made.how = pick_(2) == 0 ? made.how.pruning() : made.how;
        for_training = pick_(8) != 0;
        fuses = pick_(4) == 0;
        const int count = 3 + pick_(8);
        for (int i = 0; i < count; ++i) {
            events.push_back(draw());
        }
    }

    /// The strategy of a session: the first, or that behind so many loads.
    random_pair pair(int loads) const {
        coverage seen;
        const ts::graph_view g = made.network.view();
        const std::uint64_t seed = number_ * 64 + static_cast<std::uint64_t>(loads);
        random_pair p = draw_pair(g, made.how, seed, seen);
        random pick{ts::op::mix(seed ^ 0x0770ULL)};
        if (p.how.statistics == ts::statistics_over::replica) { // which one device has not
            p.how.statistics = ts::statistics_over::micro_batch;
        }
        const bool slices = p.devices > 1 && p.how.sync.average_every == 0 && pick(3) == 0;
        if (slices) {
            p.how.parameters_on = -1;
            p.how.sync = small_policy(g, p.devices, pick(3) > 0 ? "zero-3" : "zero-1").second;
            p.what += ", then in slices";
        }
        if (p.how.parameters_on < 0 && pick(4) == 0) {
            p.how.steps_per_plan = 2 + pick(2);
            p.what += ", then " + std::to_string(p.how.steps_per_plan) + " steps at a time";
        }
        return p;
    }

private:
    life_entry draw() {
        const ts::graph_view g = made.network.view();
        const int batch = static_cast<int>(g.tensors[0].extents[0]);
        life_entry e;
        e.what = static_cast<life_event>(pick_(life_events));
        if (!for_training) {
            constexpr life_event all[] = {life_event::evaluate, life_event::short_evaluate, life_event::predict,
                                          life_event::predict_layers, life_event::set_parameter};
            e.what = all[pick_(5)];
        }
        switch (e.what) {
        case life_event::short_step:
        case life_event::short_evaluate:
            e.number = 1 + pick_(batch);
            break;
        case life_event::steps:
            e.number = 2 + pick_(3);
            break;
        case life_event::predict:
            e.number = 1 + pick_(2 * batch);
            e.wanted = {ts::detail::usual_prediction(g)};
            e.wanted[0] = g.tensors[e.wanted[0]].producer < 0 ? g.ops[g.op_count - 1].output : e.wanted[0];
            break;
        case life_event::predict_layers:
            e.number = 1 + pick_(2 * batch);
            for (int k = 1 + pick_(2); k > 0; --k) {
                e.wanted.push_back(g.ops[pick_(g.op_count)].output);
            }
            std::sort(e.wanted.begin(), e.wanted.end());
            e.wanted.erase(std::unique(e.wanted.begin(), e.wanted.end()), e.wanted.end());
            break;
        case life_event::prune:
        case life_event::set_parameter:
            e.number = g.parameter_count > 0 ? pick_(g.parameter_count) : -1;
            e.fraction = 0.1 * pick_(8);
            break;
        default:
            break;
        }
        return e;
    }

    std::uint64_t number_;
    random pick_;
};

/// What is seen of a life: of every event a list of numbers, or that it was refused.
struct life_record {
    std::vector<std::vector<double>> seen;
    std::vector<std::string> said; ///< of every event: the refusal, or ""
    std::string where;             ///< the strategy of the last session
    bool unfit = false;            ///< a strategy does not fit its network
};

/// Lives a life: on one device, or under the case's strategies. `nudge`: what it starts from is off by such a share.
class life_runner {
public:
    life_runner(const life_case& c, bool alone, std::string folder, double nudge = 0, std::uint64_t draw = 0)
        : c_(c), g_(c.made.network.view()), alone_(alone), folder_(std::move(folder)), nudge_(nudge), draw_(draw) {}

    life_record run() {
        try {
            begin();
        } catch (const ts::error& e) {
            r_.said.emplace_back(e.what());
            return r_;
        }
        for (int p = 0; p < g_.parameter_count && nudge_ != 0; ++p) {
            std::vector<float> values = now_->session.parameter(p);
            for (float& x : values) {
                x *= static_cast<float>(1 + off());
            }
            now_->session.set_parameter(p, values);
        }
        for (const life_entry& e : c_.events) {
            r_.seen.emplace_back();
            r_.said.emplace_back();
            try {
                live(e);
            } catch (const ts::error& x) {
                r_.said.back() = x.what();
                if (!is_of_use(r_.said.back()) || !now_) {
                    return r_;
                }
            }
        }
        see_parameters();
        return r_;
    }

    /// A refusal of what the caller asked for: the same under every strategy, and the session goes on.
    static bool is_of_use(const std::string& said) {
        for (const char* words : {"averages", "pruned", "prunes"}) {
            if (said.find(words) != std::string::npos) {
                return true;
            }
        }
        return false;
    }

private:
    struct running {
        running(const life_case& c, const random_pair& p, bool alone)
            : backend(c.made.how), threads(p.devices),
              session(c.made.network.view(), p.how, p.devices, c.made.how, options(c, alone), backend, threads) {}
        static ts::session_options options(const life_case& c, bool alone) {
            ts::session_options o;
            o.seed = c.made.seed;
            o.for_training = c.for_training;
            o.fuse = c.fuses && !alone;
            return o;
        }
        ts::reference::backend backend;
        ts::workers threads;
        ts::session<ts::reference::backend> session;
    };

    void begin() {
        random_pair p = c_.pair(loads_);
        if (alone_) {
            const int count = p.how.statistics == ts::statistics_over::mini_batch ? 1 : p.how.micro_batches;
            p.how = ts::strategy(g_);
            p.how.micro_batches = count;
            p.devices = 1;
        }
        r_.where = p.what;
        now_.reset();
        try {
            now_.emplace(c_, p, alone_);
        } catch (const ts::error& e) {
            const std::string said = e.what();
            r_.unfit = said.find("the plan is refused") == std::string::npos &&
                       said.find("the plan needs a parameter") == std::string::npos;
            throw;
        }
    }

    void live(const life_entry& e) {
        auto& s = now_->session;
        const auto few = [&] { return first_samples(g_, c_.data, e.number); };
        switch (e.what) {
        case life_event::step:
            return note({s.step(c_.data.inputs)});
        case life_event::short_step:
            return note({s.step(few())});
        case life_event::steps:
            return note(s.steps(std::vector<std::vector<ts::input_data>>(ts::to_size(e.number), c_.data.inputs)));
        case life_event::evaluate:
            return note({s.evaluate(c_.data.inputs).loss});
        case life_event::short_evaluate:
            return note({s.evaluate(few()).loss});
        case life_event::predict:
        case life_event::predict_layers:
            return predict(e);
        case life_event::prune:
            if (e.number >= 0) {
                ts::prune(s, e.number, e.fraction);
            }
            return;
        case life_event::averages:
            return s.use_ema(!s.uses_ema());
        case life_event::reload: {
            const bool averages = s.uses_ema();
            if (averages) {
                s.use_ema(false);
            }
            ts::io::save_checkpoint(s, folder_);
            ++loads_;
            begin();
            ts::io::load_checkpoint(now_->session, folder_);
            return see_parameters();
        }
        case life_event::set_parameter:
            if (e.number >= 0) {
                std::vector<float> values = s.parameter(e.number);
                for (float& x : values) {
                    x *= static_cast<float>(1 - e.fraction);
                }
                s.set_parameter(e.number, values);
            }
            return;
        }
    }

    /// The samples of the batch, from the start again where there are more.
    void predict(const life_entry& e) {
        const ts::reduced_network part = ts::reduced_to(g_, e.wanted);
        std::vector<std::vector<float>> numbers(c_.data.tensors.size());
        std::vector<std::vector<std::int32_t>> labels(c_.data.tensors.size());
        std::vector<ts::input_data> inputs;
        for (std::size_t k = 0; k < c_.data.tensors.size(); ++k) {
            const int t = c_.data.tensors[k];
            const ts::shape& x = g_.tensors[t].extents;
            const std::size_t each = ts::to_size(x.volume() / x[0]);
            const std::size_t n = ts::to_size(e.number) * each;
            for (std::size_t i = 0; i < n; ++i) {
                c_.data.labels[k].empty() ? numbers[k].push_back(c_.data.numbers[k][i % c_.data.numbers[k].size()])
                                          : labels[k].push_back(c_.data.labels[k][i % c_.data.labels[k].size()]);
            }
            if (part.tensors[ts::to_size(t)] < 0) {
                continue;
            }
            if (c_.data.labels[k].empty()) {
                inputs.emplace_back(std::span<const float>(numbers[k]));
            } else {
                inputs.emplace_back(std::span<const std::int32_t>(labels[k]));
            }
        }
        for (const ts::prediction& p : now_->session.predict(inputs, e.wanted)) {
            r_.seen.back().insert(r_.seen.back().end(), p.values.begin(), p.values.end());
        }
    }

    void see_parameters() {
        for (int p = 0; p < g_.parameter_count; ++p) {
            const std::vector<float> values = now_->session.parameter(p);
            r_.seen.emplace_back(values.begin(), values.end());
            for (const auto& a : now_->session.parameter_copies(p)) {
                for (const auto& b : now_->session.parameter_copies(p)) {
                    if (a.first == b.first && a.second != b.second) {
                        r_.said.push_back("copies of parameter " + std::to_string(p) + " differ");
                    }
                }
            }
        }
    }

    void note(const std::vector<double>& numbers) { r_.seen.back() = numbers; }
    double off() {
        draw_ = ts::op::mix(draw_ + 1);
        return nudge_ * (static_cast<double>(draw_ >> 40U) / static_cast<double>(1U << 23U) - 1);
    }

    const life_case& c_;
    const ts::graph_view g_;
    bool alone_;
    std::string folder_;
    double nudge_;
    std::uint64_t draw_;
    int loads_ = 0;
    std::optional<running> now_;
    life_record r_;
};

/// The largest difference of two lives, relative to the largest number of each list; infinite where other things are
/// seen or refused.
inline double life_difference(const life_record& a, const life_record& b) {
    double worst = a.seen.size() == b.seen.size() && a.said.size() == b.said.size() ? 0 : HUGE_VAL;
    for (std::size_t i = 0; i < std::min(a.said.size(), b.said.size()); ++i) {
        worst = a.said[i].empty() == b.said[i].empty() ? worst : HUGE_VAL;
    }
    for (std::size_t i = 0; i < std::min(a.seen.size(), b.seen.size()); ++i) {
        double largest = 1e-3;
        double off = a.seen[i].size() == b.seen[i].size() ? 0 : HUGE_VAL;
        for (std::size_t k = 0; k < std::min(a.seen[i].size(), b.seen[i].size()); ++k) {
            const double x = a.seen[i][k];
            const double y = b.seen[i][k];
            const bool same = x == y || (std::isnan(x) && std::isnan(y));
            largest = std::max(largest, std::abs(y));
            off = std::max(off, same ? 0 : std::isnan(x) || std::isnan(y) ? HUGE_VAL : std::abs(x - y));
        }
        worst = std::max(worst, off == 0 ? 0 : off / largest);
    }
    return worst;
}

/// What became of random lives.
struct life_findings {
    int lives = 0;
    int unfit = 0;               ///< strategies that do not fit
    int decided_by_rounding = 0; ///< lives
    int refused = 0;             ///< events that the caller should not have asked for, refused alike
    int events[life_events]{};
    std::vector<std::string> wrong;
};

/// Lives the life of this number under its strategies and on one device. `folder` is for checkpoints.
inline void try_life(std::uint64_t number, const std::string& folder, life_findings& found) {
    const life_case c(number);
    const life_record seen = life_runner(c, false, folder).run();
    if (seen.unfit) {
        ++found.unfit;
        return;
    }
    const life_record expected = life_runner(c, true, folder).run();
    const auto over = [](double difference, double rounding) { return !(difference <= 1e-4 + 30 * rounding); };
    double rounding = 0;
    const double difference = life_difference(seen, expected);
    for (std::uint64_t draw = 0; draw < 12 && over(difference, rounding) && rounding < 1e-3; ++draw) {
        const double by = std::ldexp(1.0, draw < 4 ? -23 : draw < 8 ? -21 : -19);
        rounding = std::max(rounding, life_difference(life_runner(c, true, folder, by, draw * 7919).run(), expected));
    }
    ++found.lives;
    for (std::size_t i = 0; i < c.events.size(); ++i) {
        ++found.events[static_cast<int>(c.events[i].what)];
        found.refused += i < seen.said.size() && !seen.said[i].empty() ? 1 : 0;
    }
    if (rounding >= 1e-3) {
        ++found.decided_by_rounding;
        return;
    }
    if (over(difference, rounding)) {
        std::string text = "life " + std::to_string(number) + " (" + c.pair(0).what + "; last " + seen.where + "):";
        for (std::size_t i = 0; i < c.events.size(); ++i) {
            text += std::string(i > 0 ? ", " : " ") + to_text(c.events[i].what);
            if (i < seen.said.size() && !seen.said[i].empty()) {
                text += " [" + seen.said[i] + "]";
            }
            if (i < expected.said.size() && !expected.said[i].empty()) {
                text += " [one device: " + expected.said[i] + "]";
            }
        }
        for (std::size_t i = c.events.size(); i < seen.said.size(); ++i) {
            text += "; " + seen.said[i];
        }
        found.wrong.push_back(text + ": off by " + std::to_string(difference));
    }
}

} // namespace test_support
