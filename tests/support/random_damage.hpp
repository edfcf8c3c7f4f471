// SPDX-License-Identifier: Apache-2.0
// What verification has to say of damage: plans of random networks in which one number, one entry or one task is wrong.
// What the verifier accepts must still compute the right numbers, in whatever order its lists allow.
#pragma once

#include "damaged_plan.hpp"
#include "random_compression.hpp"
#include "random_pairs.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/local/initialize.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace test_support {

/// A plan of a random network, with what is needed to run it.
struct damage_case {
    random_case made;
    ts::graph network; ///< of the plan's batch
    ts::plan p;
    std::string what;
    bool usable = false;

    explicit damage_case(std::uint64_t number, drawn_from which = drawn_from::all) : made(number, which) {
        random pick{ts::op::mix(number ^ 0xda3a9eULL)};
        coverage seen;
        random_pair pair = draw_pair(made.network.view(), made.how, number * 64, seen);
        if (number % 6 == 5) {
            compress(made.network.view(), number, pair);
        } else if (number % 3 == 1 && which == drawn_from::all) {
            shard(number, pair);
        } else if (number % 12 == 2 && which == drawn_from::all) {
            average(number, pair);
        }
        what = "network " + std::to_string(number) + ", " + pair.what;
        ts::lower_options o;
        o.update = made.how;
        o.kind = pick(5) == 0 ? ts::run_kind::evaluation : ts::run_kind::training;
        o.allow_empty = pick(6) == 0;
        o.keep_gradients = o.kind == ts::run_kind::training && pick(2) == 0;
        network = o.allow_empty ? ts::with_batch(made.network.view(), made.short_batch) : made.network;
        try {
            ts::require(made.network.view(), pair.how.view(), pair.devices);
            p = ts::lower(network.view(), pair.how.view(), pair.devices, o);
            ts::finish(network.view(), p, 0, &made.how);
            usable = true;
        } catch (const ts::error& e) {
            what += ": " + std::string(e.what()); // a strategy that does not fit, or a plan that should not be refused
        }
    }
    /// Parameters in slices (ZeRO 3), or what is sent otherwise, in micro-batches and plans of several steps, with
    /// optimizers that take norms.
    void shard(std::uint64_t number, random_pair& pair) {
        random pick{ts::op::mix(number ^ 0x5a4dULL)};
        const float clip = pick(3) == 0 ? 0.05F : 0.0F;
        switch (pick(4)) {
        case 0:
            made.how = ts::optimizer(ts::lars{.weight_decay = 0.01F, .trust_coefficient = 0.1F}, clip, 1.0F);
            break;
        case 1:
        case 2:
            made.how = ts::optimizer(ts::lamb{.learning_rate = 0.01F, .epsilon = 1e-3F}, clip, 1.0F);
            break;
        default:
            break;
        }
        if (pair.devices > 1 && pair.how.sync.average_every == 0 && pick(3) > 0) {
            pair.how.parameters_on = -1;
            pair.how.sync = small_policy(made.network.view(), pair.devices, pick(4) > 0 ? "zero-3" : "zero-2").second;
            pair.what += ", then in slices";
        }
        const int batch = static_cast<int>(made.network.view().tensors[0].extents[0]);
        if (pair.how.schedule.workers.empty() && pair.how.micro_batches == 1 && batch > 1) {
            pair.how.micro_batches = 2 + pick(batch > 3 ? 3 : batch - 1);
            pair.what += ", then " + std::to_string(pair.how.micro_batches) + " micro-batches";
        }
        if (pair.how.parameters_on < 0) {
            pair.how.steps_per_plan = 1 + pick(3);
            pair.what += ", then " + std::to_string(pair.how.steps_per_plan) + " steps at a time";
        }
    }
    /// Copies that are averaged every few steps, by plain SGD, in plans that end with an average.
    void average(std::uint64_t number, random_pair& pair) {
        random pick{ts::op::mix(number ^ 0xa7e4a6eULL)};
        made.how = ts::optimizer(ts::sgd{.learning_rate = 0.05F});
        pair.how.parameters_on = -1;
        pair.how.sync = ts::schedule::parameter_average(1 + pick(2));
        pair.how.steps_per_plan = pair.how.sync.average_every * (1 + pick(2));
        pair.what += ", then copies averaged every " + std::to_string(pair.how.sync.average_every) + " steps";
    }
    bool is_wrongly_refused() const { return !usable && what.find("the plan is refused") != std::string::npos; }
};

/// What is seen of a plan that has run twice: losses, results, parameters with all their copies, kept gradients.
using plan_numbers = std::vector<std::vector<double>>;

/// Runs a plan on the reference backend, one task at a time, each time one of those that its lists and waits allow:
/// which, says `order`.
class plan_runner {
public:
    plan_runner(const damage_case& c, const ts::plan& p, const batch_data& data)
        : case_(c), g_(c.network.view()), p_(p), data_(data), backend_(c.made.how) {}

    plan_numbers run(std::uint64_t order) {
        ts::parameter_store store(p_);
        const ts::addresses where(p_, store);
        for (int i = 0; i < g_.parameter_count; ++i) {
            std::vector<float> values(ts::to_size(g_.parameters[i].extents.volume()));
            ts::initialize(g_, i, case_.made.seed, values);
            ts::detail::store_values(backend_, store, i, -1, g_.parameters[i].extents, values);
        }
        std::vector<ts::runnable> all;
        for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
            all.push_back(backend_.prepare(p_, i, g_, where));
        }
        plan_numbers seen;
        random pick{ts::op::mix(order)};
        for (int again = 0; again < 2; ++again) {
            walk(all, again, pick);
            see(where, store, seen);
        }
        return seen;
    }

private:
    void walk(const std::vector<ts::runnable>& all, int again, random& pick) const {
        std::vector<const void*> inputs(ts::to_size(g_.tensor_count), nullptr);
        for (std::size_t k = 0; k < data_.tensors.size(); ++k) {
            inputs[ts::to_size(data_.tensors[k])] = data_.inputs[k].data;
        }
        std::vector<int> next(p_.order.size(), 0); // of a queue: how many have finished
        std::vector<char> done(p_.tasks.size(), 0);
        for (std::size_t finished = 0; finished < p_.tasks.size(); ++finished) {
            const int t = ready_task(next, done, pick);
            const ts::task& x = p_.tasks[ts::to_size(t)];
            ts::run_state state;
            state.seed = case_.made.seed;
            state.step = static_cast<std::uint64_t>(again * p_.steps_per_plan + x.step);
            state.learning_rate = static_cast<double>(case_.made.how.learning_rate);
            state.inputs = inputs.data();
            all[ts::to_size(t)].call(all[ts::to_size(t)].context, state);
            done[ts::to_size(t)] = 1;
            ++next[ts::to_size(p_.list_of(x))];
        }
    }

    /// One that can run; lists are looked at from a random one on.
    int ready_task(const std::vector<int>& next, const std::vector<char>& done, random& pick) const {
        const int lists = static_cast<int>(p_.order.size());
        const int first = pick(lists);
        for (int k = 0; k < lists; ++k) {
            const int l = (first + k) % lists;
            const std::vector<int>& list = p_.order[ts::to_size(l)];
            if (p_.is_queue(l)) {
                for (const int t : list) {
                    if (done[ts::to_size(t)] == 0 && is_ready(p_.tasks[ts::to_size(t)], next, done)) {
                        return t;
                    }
                }
            } else if (next[ts::to_size(l)] < static_cast<int>(list.size()) &&
                       is_ready(p_.tasks[ts::to_size(list[ts::to_size(next[ts::to_size(l)])])], next, done)) {
                return list[ts::to_size(next[ts::to_size(l)])];
            }
        }
        throw ts::error("tessera: a deadlock");
    }

    static bool is_ready(const ts::task& t, const std::vector<int>& next, const std::vector<char>& done) {
        bool ready = true;
        for (const ts::wait_for& w : t.waits) {
            ready = ready && next[ts::to_size(w.list)] >= w.count;
        }
        for (const int a : t.after) {
            ready = ready && done[ts::to_size(a)] != 0;
        }
        return ready;
    }

    void see(const ts::addresses& where, const ts::parameter_store& store, plan_numbers& seen) {
        ts::detail::piece_sum sum;
        std::vector<float> out;
        const auto add = [&](const std::vector<ts::result_piece>& list, int tensor, int step, const ts::shape& s) {
            out.assign(ts::to_size(s.volume()), 0.0F);
            sum.add(backend_, p_, where, list, tensor, step, ts::whole(s), out);
            seen.emplace_back(out.begin(), out.end());
        };
        for (int step = 0; step < case_.p.steps_per_plan; ++step) {
            for (int op = 0; op < g_.op_count; ++op) {
                if (g_.is_loss(op)) {
                    add(p_.results, g_.ops[op].output, step, g_.output_of(op).extents);
                    const int in = g_.ops[op].inputs[0];
                    if (case_.p.kind == ts::run_kind::evaluation && g_.tensors[in].producer >= 0) {
                        add(p_.results, in, step, g_.tensors[in].extents);
                    }
                }
            }
        }
        for (int i = 0; i < g_.parameter_count; ++i) {
            const ts::shape& s = g_.parameters[i].extents;
            if (!case_.p.gradients.empty()) {
                add(p_.gradients, i, case_.p.steps_per_plan - 1, s);
            }
            const std::vector<float> whole = ts::detail::stored_values(backend_, store, i, -1, s);
            seen.emplace_back(whole.begin(), whole.end());
            double apart = 0; // how far copies are from each other
            for (const ts::parameter_store::entry& e : store.entries()) {
                if (e.what.kind == ts::tile_kind::parameter && e.what.tensor == i && e.what.slices == 1) {
                    const ts::index_t n = e.what.region.volume();
                    std::vector<float> copy(ts::to_size(n));
                    std::vector<float> same(copy);
                    backend_.to_plain(e.what, store.address(e), copy.data());
                    ts::box_copy(e.what.region, ts::whole(s), e.what.region)
                        .apply(whole.data(), same.data(), true, ts::reducer::sum);
                    for (std::size_t k = 0; k < copy.size(); ++k) {
                        apart = std::max(apart, static_cast<double>(std::abs(copy[k] - same[k])));
                    }
                }
            }
            seen.push_back({apart});
        }
    }

    const damage_case& case_;
    const ts::graph_view g_;
    const ts::plan& p_;
    const batch_data& data_;
    ts::reference::backend backend_;
};

/// The largest difference of two lists of numbers, relative to the largest number of each list; infinite where they are
/// not as long.
inline double difference(const plan_numbers& a, const plan_numbers& b) {
    double worst = a.size() == b.size() ? 0 : HUGE_VAL;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        double largest = 1e-3;
        double off = a[i].size() == b[i].size() ? 0 : HUGE_VAL;
        for (std::size_t k = 0; k < std::min(a[i].size(), b[i].size()); ++k) {
            const bool same = a[i][k] == b[i][k] || (std::isnan(a[i][k]) && std::isnan(b[i][k]));
            largest = std::max(largest, std::abs(b[i][k]));
            off = std::max(off, same ? 0 : std::abs(a[i][k] - b[i][k]));
            off = std::isnan(a[i][k]) != std::isnan(b[i][k]) ? HUGE_VAL : off;
        }
        worst = std::max(worst, off / largest);
    }
    return worst;
}

enum class damage_verdict { right, wrong, crashed };

/// Runs a damaged plan in a process of its own, in three orders.
inline damage_verdict judge_damaged(const damage_case& c, const ts::plan& p, const batch_data& data,
                                    const plan_numbers& expected) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        int code = 0;
        try {
            for (std::uint64_t order = 1; order < 4 && code == 0; ++order) {
                code = difference(plan_runner(c, p, data).run(order), expected) < 1e-3 ? 0 : 1;
            }
        } catch (...) {
            code = 2;
        }
        _exit(code);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
        return damage_verdict::crashed;
    }
    return WEXITSTATUS(status) == 0 ? damage_verdict::right : damage_verdict::wrong;
}

/// What became of damaged plans.
struct damage_findings {
    int networks = 0;
    int unfit = 0; ///< strategies that do not fit their network
    int damages = 0;
    int right = 0;          ///< accepted, and the numbers are right
    counts_by_name tried;   ///< by what was damaged
    counts_by_name refused; ///< by what was damaged
    counts_by_name rules;   ///< by rule
    std::vector<std::string> wrong;
};

/// Damages the plan of one random network so many times.
inline void damage_plans(std::uint64_t number, int each, damage_findings& found) {
    const damage_case c(number);
    if (!c.usable) {
        if (c.is_wrongly_refused()) {
            found.wrong.push_back(c.what);
        } else {
            ++found.unfit;
        }
        return;
    }
    ++found.networks;
    const batch_data data(c.network.view(), number + 1);
    const plan_numbers expected = plan_runner(c, c.p, data).run(0);
    random pick{ts::op::mix(number ^ 0xbadULL)};
    for (int i = 0; i < each; ++i) {
        ts::plan p = c.p;
        const std::string what = damage(p, pick);
        if (what.empty()) {
            continue;
        }
        ++found.damages;
        found.tried.add(what);
        ts::verdict v;
        try {
            v = ts::verify(c.network.view(), p, 0, &c.made.how);
        } catch (const std::exception& e) { // it is to say what is wrong
            found.wrong.push_back(c.what + ", damage " + std::to_string(i) + ": " + what + ": verification throws " +
                                  e.what());
            continue;
        }
        if (v) {
            found.refused.add(what);
            found.rules.add(rule_of(v.text));
            continue;
        }
        const damage_verdict how = judge_damaged(c, p, data, expected);
        found.right += how == damage_verdict::right ? 1 : 0;
        if (how != damage_verdict::right) {
            found.wrong.push_back(c.what + ", damage " + std::to_string(i) + ": " + what +
                                  (how == damage_verdict::wrong ? ": wrong numbers" : ": crashed"));
        }
    }
}

} // namespace test_support
