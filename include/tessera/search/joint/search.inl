// SPDX-License-Identifier: Apache-2.0
// Bodies of search.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/joint/search.hpp"

#include "tessera/base/number_text.hpp"
#include "tessera/base/stable_sort.hpp"
#include "tessera/search/coarse/parts.hpp"
#include "tessera/search/equal_parts.hpp"

#include <utility>

namespace tessera::search::detail {

/// The points of a joint search, and the search itself.
class joint_searcher {
public:
    joint_searcher(const graph_view& g, const cluster& on, const joint_options& o)
        : g_(g), on_(on), o_(o), estimate_(g, on, o.lowering, o.times) {
        for (int d = 0; d < on.devices(); ++d) {
            const index_t m = on.class_of(d).memory_bytes;
            limit_ = m > 0 && (limit_ == 0 || m < limit_) ? m : limit_;
        }
        for (int op = 0; op < g.op_count; ++op) {
            const description d = g.describe(op);
            merges_ = merges_ || d.facts.merges;
            heads_ = heads_ || heads_loop(d) >= 0;
            busy_ += least_time(op, d);
            launches_ += d.facts.view ? 0 : 2 * on.class_of(0).launch;
        }
        busy_ /= on.devices();
        for (int p = 0; p < g.parameter_count; ++p) {
            parameter_bytes_ += g.parameters[p].trained ? 4 * g.parameters[p].extents.volume() : 0;
        }
    }

    joint_result run();

private:
    /// Degrees and micro-batches; ZeRO's stage and recomputation are open.
    struct degrees {
        parallelism what;
        index_t least = 0;
    };

    /// Of an operator on one device, without its launches.
    index_t least_time(int op, const description& d) const;
    std::vector<degrees> list();
    void add_ways(std::vector<degrees>& all, int stages, int share);
    void add_micro_batches(std::vector<degrees>& all, parallelism x);
    /// ns: no strategy of these degrees that recomputes so is faster.
    index_t least_of(const parallelism& x, const recompute_rule& recomputed);
    /// False where parameters, gradients, state and what is kept of the micro-batches under way are too much already.
    bool may_fit(const parallelism& x, const recompute_rule& recomputed);
    std::vector<recompute_rule> rules() const;
    std::vector<int> zero_stages(const parallelism& x) const;
    bool fits(const joint_cost& c) const { return limit_ == 0 || c.bytes <= limit_; }
    /// False where nothing is found that is faster than the best by more than 1 %.
    bool is_worth(index_t least) const { return best_ == INT64_MAX || least < best_ / 100 * 99; }
    bool stops() const { return o_.interrupted != nullptr && o_.interrupted->load(); }
    /// Estimates the ways to store and recompute for some degrees, the fastest first, until one fits.
    void estimate(const degrees& x, joint_result& r);
    /// Where its bytes decide, and its plan is not too large, they are the plan's.
    void note(joint_candidate c, joint_result& r);
    static bool is_better(const joint_candidate& a, const joint_candidate& b);
    void simulate_best(joint_result& r);
    index_t tasks_of(const parallelism& x) const;

    graph_view g_;
    const cluster& on_;
    const joint_options& o_;
    few_block_estimator estimate_;
    index_t limit_ = 0;
    index_t busy_ = 0;            ///< ns: a step's operators, on all devices
    index_t launches_ = 0;        ///< ns: of all operators once, forward and backward
    index_t parameter_bytes_ = 0; ///< of all that are trained, in fp32
    bool merges_ = false;
    bool heads_ = false;
    index_t best_ = INT64_MAX; ///< ns, of what fits
    std::int64_t made_ = 0;
};

TESSERA_INLINE index_t joint_searcher::least_time(int op, const description& d) const {
    if (d.facts.view) {
        return 0;
    }
    const index_t bytes = forward_bytes(d, loop_ranges(d).range);
    const auto time = [&](index_t flops) {
        return cost::roofline_time({d.facts.work, flops, bytes, g_.ops[op].attributes.math}, on_.class_of(0),
                                   o_.times.reached) -
               on_.class_of(0).launch;
    };
    return time(forward_flops(d)) + time(backward_flops(d));
}

TESSERA_INLINE index_t joint_searcher::least_of(const parallelism& x, const recompute_rule& recomputed) {
    const index_t samples = g_.tensors[0].extents[0] / (index_t{x.data} * x.micro_batches);
    const index_t work = estimate_.estimates() ? estimate_.time_alone(samples, recomputed).time / (x.stages * x.share)
                                               : busy_ / x.micro_batches + launches_ / x.stages;
    return work * x.micro_batches + work * (x.stages - 1) / x.chunks;
}

TESSERA_INLINE bool joint_searcher::may_fit(const parallelism& x, const recompute_rule& recomputed) {
    const index_t samples = g_.tensors[0].extents[0] / (index_t{x.data} * x.micro_batches);
    if (limit_ == 0 || !estimate_.estimates()) {
        return true;
    }
    const bool divides = x.how == shared_by::tensor || x.how == shared_by::exact || x.how == shared_by::lean;
    const index_t own = parameter_bytes_ / (x.stages * (divides ? x.share : 1)); // of a device that stores them whole
    const index_t slice = parameter_bytes_ / on_.devices();
    // Sums of gradients over micro-batches are whole, whatever is stored in slices.
    const index_t stored =
        (x.zero == 3 ? slice : own) + (x.micro_batches > 1 ? own : 0) + o_.lowering.update.state_count() * slice;
    const index_t one = estimate_.time_alone(samples, recomputed).bytes / (x.stages * x.share);
    // Arenas of few blocks are not all alike, nor is what each device has.
    return (stored + one * std::min(x.stages, x.micro_batches)) / 10 * 8 <= limit_;
}

TESSERA_INLINE void joint_searcher::add_micro_batches(std::vector<degrees>& all, parallelism x) {
    const index_t batch = g_.tensors[0].extents[0];
    if (batch % x.data != 0) {
        return;
    }
    const index_t mine = batch / x.data;
    const bool joins = tessera::detail::first_joining_loss(g_) >= 0;
    for (index_t samples = 1; samples <= mine; ++samples) {
        const bool usual = samples == mine || (samples & (samples - 1)) == 0;
        if (mine % samples != 0 || mine / samples > 4096 || (joins && samples != mine) ||
            (o_.micro_batches > 0 ? mine / samples != o_.micro_batches : !usual)) {
            continue;
        }
        x.micro_batches = static_cast<int>(mine / samples);
        for (x.chunks = 1; x.chunks <= 4; x.chunks *= 2) {
            if (x.chunks > 1 &&
                (x.stages < 2 || x.micro_batches % x.stages != 0 || x.stages * x.chunks > estimate_.most_stages())) {
                break;
            }
            all.push_back({x, least_of(x, rules()[0])});
        }
        x.chunks = 1;
    }
}

TESSERA_INLINE void joint_searcher::add_ways(std::vector<degrees>& all, int stages, int share) {
    parallelism x;
    x.stages = stages;
    x.share = share;
    x.data = on_.devices() / stages / share;
    const int widest = std::max(8, node_grid_of(on_).per_node);
    for (const shared_by how : {shared_by::tensor, shared_by::ulysses, shared_by::ring, shared_by::zigzag,
                                shared_by::exact, shared_by::lean}) {
        const bool ring = how == shared_by::ring || how == shared_by::zigzag;
        if ((share == 1 && how != shared_by::tensor) || (how == shared_by::lean && heads_) ||
            (ring && (!merges_ || share > 2 * widest)) || (!ring && share > widest) ||
            ((how == shared_by::ulysses || how == shared_by::tensor) && share > 1 && !heads_)) {
            continue;
        }
        x.how = how;
        add_micro_batches(all, x);
    }
}

TESSERA_INLINE std::vector<joint_searcher::degrees> joint_searcher::list() {
    std::vector<degrees> all;
    const int devices = on_.devices();
    for (int stages = 1; stages <= devices && stages <= estimate_.most_stages(); ++stages) {
        for (int share = 1; devices % stages == 0 && share <= devices / stages; ++share) {
            if (devices / stages % share == 0) {
                add_ways(all, stages, share);
            }
        }
    }
    tessera::detail::stable_sort(all, [](const degrees& a, const degrees& b) { return a.least < b.least; });
    return all;
}

TESSERA_INLINE std::vector<recompute_rule> joint_searcher::rules() const {
    if (o_.recomputed != nullptr) {
        return {*o_.recomputed};
    }
    using kind = recompute_rule::kind;
    return {{kind::none}, {kind::selective}, {kind::blocks}};
}

TESSERA_INLINE std::vector<int> joint_searcher::zero_stages(const parallelism& x) const {
    if (o_.zero >= 0) {
        return {o_.zero};
    }
    return x.data > 1 ? std::vector<int>{0, 2, 3} : std::vector<int>{0};
}

TESSERA_INLINE void joint_searcher::note(joint_candidate c, joint_result& r) {
    index_t& bytes = c.estimated.bytes;
    const bool near = limit_ > 0 && bytes > limit_ / 10 * 9 && bytes < limit_ / 4 * 5;
    if (near && c.estimated.step < best_ && estimate_.estimates() && tasks_of(c.what) <= o_.most_tasks) {
        plan p = bound_plan(g_, strategy_of(g_, on_, c.what, estimate_.parts_of(c.what)), on_.devices(), o_.lowering);
        plan_memory(p);
        bytes = few_block_estimator::most_bytes(p, 0, on_.devices());
    }
    c.fits = fits(c.estimated);
    if (c.fits) {
        best_ = std::min(best_, c.estimated.step);
    }
    r.all.push_back(c);
    ++made_;
    if (o_.report) {
        o_.report({made_, r.considered, best_});
    }
}

TESSERA_INLINE void joint_searcher::estimate(const degrees& x, joint_result& r) {
    for (const int zero : zero_stages(x.what)) {
        bool kept = false; // nothing needs to be made again
        for (const recompute_rule& rule : rules()) {
            if (stops()) {
                return;
            }
            joint_candidate c;
            c.what = x.what;
            c.what.zero = zero;
            c.what.recomputed = rule;
            c.least = least_of(x.what, rule);
            if (!is_worth(c.least)) {
                break;
            }
            if (!may_fit(c.what, rule) && !(rule == rules().back() && r.all.empty())) { // something has to be found
                ++r.too_large;
                continue;
            }
            r.least = std::min(r.least, c.least);
            try {
                c.estimated = estimate_(c.what);
            } catch (const error&) { // a rule is broken, whatever is stored and recomputed
                ++r.refused;
                return;
            }
            note(c, r);
            if (r.all.back().fits) {
                kept = rule == rules()[0];
                break;
            }
        }
        if (kept) {
            return;
        }
    }
}

TESSERA_INLINE index_t joint_searcher::tasks_of(const parallelism& x) const {
    const index_t of_shards = index_t{4} * g_.op_count * x.data * x.share * x.micro_batches;
    const index_t of_updates = index_t{2} * g_.parameter_count * x.data * x.share;
    return of_shards + of_updates * (x.zero == 3 ? 1 + 2 * x.micro_batches : 1);
}

TESSERA_INLINE bool joint_searcher::is_better(const joint_candidate& a, const joint_candidate& b) {
    return a.fits != b.fits ? a.fits : a.fits ? a.cost().step < b.cost().step : a.cost().bytes < b.cost().bytes;
}

TESSERA_INLINE void joint_searcher::simulate_best(joint_result& r) {
    // Estimated bytes may be too many by a quarter: what is nearly too large is looked at too.
    const auto is_near = [this](const joint_candidate& c) { return limit_ == 0 || c.cost().bytes <= limit_ / 4 * 5; };
    tessera::detail::stable_sort(r.all, [&](const joint_candidate& a, const joint_candidate& b) {
        return is_near(a) != is_near(b) ? is_near(a)
               : is_near(a)             ? a.cost().step < b.cost().step
                                        : a.cost().bytes < b.cost().bytes;
    });
    int fitting = 0;
    int simulated = 0;
    for (joint_candidate& c : r.all) {
        if (fitting == o_.most_simulated || simulated == 4 * o_.most_simulated || (simulated > 0 && stops())) {
            break;
        }
        if (!estimate_.estimates() || tasks_of(c.what) > o_.most_tasks) {
            continue; // that was its whole plan, or it is too large
        }
        const finished_step s =
            simulate_parts(g_, on_, strategy_of(g_, on_, c.what, estimate_.parts_of(c.what)), o_.times, o_.lowering)
                .step;
        c.simulated = {s.makespan, c.estimated.bubble, *std::max_element(s.peak_bytes.begin(), s.peak_bytes.end())};
        c.fits = fits(c.simulated);
        fitting += c.fits ? 1 : 0;
        ++simulated;
    }
    tessera::detail::stable_sort(r.all, [&](const joint_candidate& a, const joint_candidate& b) {
        const bool known = a.simulated.step > 0;
        return fitting > 0 && known != (b.simulated.step > 0) ? known : is_better(a, b);
    });
}

TESSERA_INLINE joint_result joint_searcher::run() {
    joint_result r;
    const std::vector<degrees> all = list();
    for (const degrees& x : all) {
        r.considered += static_cast<int>(zero_stages(x.what).size() * rules().size());
    }
    if (all.empty()) {
        const index_t batch = g_.tensors[0].extents[0];
        throw error("tessera: no data, tensor and pipeline degrees of " + std::to_string(on_.devices()) +
                    " devices divide a batch of " + std::to_string(batch) + " samples" +
                    (o_.micro_batches > 0 ? " in " + std::to_string(o_.micro_batches) + " micro-batches" : "") +
                    "; a batch of " + std::to_string(on_.devices() * std::max(1, o_.micro_batches)) +
                    " or a multiple of it can be divided");
    }
    r.least = INT64_MAX;
    for (const degrees& x : all) {
        if (!is_worth(x.least) || (stops() && !r.all.empty())) {
            break;
        }
        estimate(x, r);
    }
    if (r.all.empty()) {
        throw error("tessera: none of " + std::to_string(r.considered) + " ways to train on " +
                    std::to_string(on_.devices()) + " devices keeps the rules; use another number of devices");
    }
    r.interrupted = stops();
    simulate_best(r);
    r.best = r.all[0];
    r.found = strategy_of(g_, on_, r.best.what, estimate_.parts_of(r.best.what));
    return r;
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE joint_result search_joint(const graph_view& g, const cluster& on, const joint_options& o) {
    return detail::joint_searcher(g, on, o).run();
}

TESSERA_INLINE std::string joint_result::table(int most) const {
    std::string text;
    std::vector<parallelism> shown;
    const auto of_kind = [](parallelism x) {
        x.micro_batches = x.chunks = 1;
        return x;
    };
    for (const joint_candidate& c : all) {
        bool known = false;
        for (const parallelism& x : shown) {
            known = known || x == of_kind(c.what);
        }
        if (known || static_cast<int>(shown.size()) == most) {
            continue;
        }
        shown.push_back(of_kind(c.what));
        const joint_cost& x = c.cost();
        char line[120];
        print_to(line, sizeof line, "%11.3f ms %8.2f GB%s ", static_cast<double>(x.step) * 1e-6,
                 static_cast<double>(x.bytes) * 1e-9, c.simulated.step > 0 ? " " : "~");
        text += line + to_text(c.what);
        if (shown.size() > 1) {
            const index_t rest = x.step - x.bubble - least;
            print_to(line, sizeof line, ": bubble %.0f %%, not hidden or made again %.0f %%",
                     100.0 * static_cast<double>(x.bubble) / static_cast<double>(x.step),
                     100.0 * static_cast<double>(rest) / static_cast<double>(x.step));
            text += c.fits ? line : ": does not fit";
        }
        text += "\n";
    }
    return text;
}

namespace detail {

TESSERA_INLINE search_found found_by_joint(const graph_view& g, const cluster& on, const search_options& o) {
    joint_options how;
    how.lowering = o.lowering;
    how.micro_batches = o.micro_batches;
    how.most_simulated = o.values.as<int>(simulated_plans_option);
    how.report = o.report;
    how.interrupted = o.interrupted;
    const recompute_rule none;
    const bool given = o.recomputed.which != recompute_rule::kind::none || o.recompute_to_fit || o.recompute;
    how.recomputed = given ? &o.recomputed : nullptr;
    const std::string_view policy = o.policy == nullptr ? std::string_view() : o.policy->name;
    how.zero = policy == "zero-2" ? 2 : policy == "zero-3" ? 3 : o.policy != nullptr ? 0 : -1;
    joint_result r = search_joint(g, on, how);
    if (o.policy != nullptr && how.zero == 0) {
        r.found.sync = synchronization_of(g, on.devices(), speed_of(on), *o.policy, o.values);
    }
    std::string text = to_text(r.best.what) + "\nof " + std::to_string(r.considered) + " ways " +
                       std::to_string(r.all.size()) + " were estimated; none is faster than " +
                       std::to_string(r.least / 1000) + " us\n" + r.table();
    const bool whole = r.best.simulated.step > 0;
    return {std::move(r.found), std::move(text), whole ? 0 : r.best.estimated.step, whole ? 0 : r.best.estimated.bytes};
}

} // namespace detail

} // namespace tessera::search

#include "tessera/base/end_header.inl"
