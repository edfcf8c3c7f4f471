// SPDX-License-Identifier: Apache-2.0
// The strategies among which fit() chooses: a schedule with its micro-batches and re-materialization, stages, and how each is split inside.
#pragma once

#include "tessera/cost/profile.hpp"
#include "tessera/plan/lowering_state.hpp"
#include "tessera/plan/print.hpp"
#include "tessera/schedule/kinds.hpp"
#include "tessera/search/pipeline.hpp"

namespace tessera::search {

/// A way to synchronize gradients, or anything else that a strategy says beside its configurations and schedule.
struct fit_policy {
    std::string name;
    void (*apply)(const graph_view& g, strategy& s) = nullptr;
};

/// Communication in a list of its own, beside computation.
inline void overlap_communication(const graph_view&, strategy& s) { s.overlap = true; }

/// One strategy of the space.
struct fit_choice {
    schedule::settings order;     ///< one worker: no pipeline, micro-batches one after the other
    std::vector<int> widths;      ///< devices of every worker
    std::vector<baseline> inside; ///< how each stage is split over them
    std::vector<int> stage;       ///< of every operator
    std::string policy = {};      ///< the name of one of the options' policies, or none

    int devices() const {
        int n = 0;
        for (const int w : widths) {
            n += w;
        }
        return n;
    }
    friend bool operator==(const fit_choice&, const fit_choice&) = default;
};

struct fit_options {
    lower_options lowering; ///< the optimizer, above all
    cost::roofline_efficiency reached;
    const cost::profile* measured = nullptr;                   ///< asked first for the times of tasks in simulations
    statistics_over statistics = statistics_over::micro_batch; ///< of batch norms
    std::vector<schedule::kind> schedules = {schedule::kind::fill_drain,
                                             schedule::kind::gpipe,
                                             schedule::kind::one_forward_one_backward,
                                             schedule::kind::interleaved,
                                             schedule::kind::zero_bubble_h1,
                                             schedule::kind::zero_bubble_v,
                                             schedule::kind::chimera,
                                             schedule::kind::gems};
    std::vector<int> micro_batches = {1, 2, 4, 8, 16, 32, 64};
    std::vector<int> chunks = {2};      ///< interleaved: stages of a worker
    std::vector<int> parts = {1, 2, 4}; ///< GEMS: micro-batches of a mini-batch
    std::vector<baseline> inside = {baseline::data_parallel, baseline::model_parallel, baseline::one_weird_trick};
    std::vector<schedule::rematerialize> again = {schedule::rematerialize::none, schedule::rematerialize::all,
                                                  schedule::rematerialize::except_last};
    std::vector<fit_policy> policies = {
        {"overlapped", overlap_communication}}; ///< tried on data parallelism and around the best
    bool fewer_devices = true;                  ///< also strategies that leave half of the devices, or more, idle
    int every_cut =
        64; ///< all cuts into stages are considered where they are no more than this; otherwise balanced ones
    int simulations = 48; ///< strategies that are lowered and simulated, at most ...
    int refinements = 32; ///< ... and so many more in the neighbourhood of the best
};

inline std::string to_text(const graph_view& g, const fit_choice& x) {
    const bool piped = x.order.workers > 1;
    std::string s;
    if (piped) {
        s = schedule::to_text(x.order);
    } else {
        s = to_text(x.widths[0] == 1 ? baseline::single_device : x.inside[0]);
        s += x.order.micro_batches > 1 ? ", " + std::to_string(x.order.micro_batches) + " micro-batches" : "";
        s += x.order.again == schedule::rematerialize::none ? "" : ", all recomputed";
    }
    bool alike = true;
    for (const int w : x.widths) {
        alike = alike && w == x.widths[0];
    }
    if (!alike) {
        s += ", devices";
        for (const int w : x.widths) {
            s.append(1, ' ').append(std::to_string(w));
        }
    } else if (piped || x.widths[0] > 1) {
        s += ", " + std::to_string(x.widths[0]) + (x.widths[0] == 1 ? " device" : " devices") + (piped ? " each" : "");
    }
    if (piped && (!alike || x.widths[0] > 1)) {
        for (std::size_t i = 0; i < x.inside.size(); ++i) {
            if (i == 0 || x.inside[i] != x.inside[i - 1]) {
                s.append(i == 0 ? ", " : " | ").append(to_text(x.inside[i]));
            }
        }
    }
    if (piped) {
        s += ", cut before";
        for (int op = 1; op < g.op_count; ++op) {
            const auto at = static_cast<std::size_t>(op);
            if (x.stage[at] != x.stage[at - 1]) {
                s.append(1, ' ').append(tessera::detail::name_of(g, op));
            }
        }
    }
    return x.policy.empty() ? s : s + ", " + x.policy;
}

/// The choice as a strategy; `times` are those of a list-scheduled schedule.
inline strategy strategy_of(const graph_view& g, const fit_choice& x, const fit_options& o,
                            const schedule::step_times& times = {}) {
    strategy s;
    if (x.order.workers > 1) {
        s = pipeline(g, x.stage, schedule::make(x.order, times),
                     {.widths = x.widths, .inside = x.inside, .again = x.order.again});
    } else {
        s = strategy(g);
        for (int op = 0; op < g.op_count; ++op) {
            configuration& c = s.ops[static_cast<std::size_t>(op)];
            c = baseline_configuration(g, op, x.widths[0], x.inside[0]);
            c.uneven = true;
            c.recompute = x.order.again != schedule::rematerialize::none;
        }
        s.micro_batches = x.order.micro_batches;
    }
    s.statistics = o.statistics;
    for (const fit_policy& p : o.policies) {
        p.name == x.policy ? p.apply(g, s) : void();
    }
    return s;
}

namespace detail {

/// True where a worker's devices get at least one sample each of every micro-batch, or are split by something else.
inline bool has_samples(const graph_view& g, int micro_batches, int width, baseline inside) {
    const index_t batch = g.tensors[0].extents[0];
    return micro_batches * index_t{inside == baseline::data_parallel ? width : 1} <= batch;
}

/// True where another split, named earlier in the options, is the same for every operator of the network.
inline bool is_said_already(const graph_view& g, int width, baseline inside, const fit_options& o) {
    for (const baseline earlier : o.inside) {
        if (earlier == inside) {
            return false;
        }
        bool same = true;
        for (int op = 0; op < g.op_count && same; ++op) {
            same = baseline_configuration(g, op, width, earlier) == baseline_configuration(g, op, width, inside);
        }
        if (same) {
            return true;
        }
    }
    return false;
}

/// Schedules, widths and splits, without stages: those that make() takes and that leave no device without samples.
inline std::vector<fit_choice> fit_space(const graph_view& g, int devices, const fit_options& o) {
    std::vector<fit_choice> all;
    const auto add = [&](const schedule::settings& order, int width, baseline inside) {
        if (schedule::is_possible(order) && order.stages() <= g.op_count &&
            has_samples(g, order.micro_batches, width, inside)) {
            all.push_back({order,
                           std::vector<int>(static_cast<std::size_t>(order.workers), width),
                           std::vector<baseline>(static_cast<std::size_t>(order.stages()), inside),
                           {},
                           {}});
        }
    };
    std::vector<std::vector<baseline>> splits(static_cast<std::size_t>(devices) + 1); // that differ, by width
    const auto each_inside = [&](const schedule::settings& order, int width) {
        std::vector<baseline>& own = splits[static_cast<std::size_t>(width)];
        if (own.empty()) {
            for (const baseline inside : o.inside) {
                is_said_already(g, width, inside, o) ? void() : own.push_back(inside);
            }
        }
        for (const baseline inside : own) {
            add(order, width, inside);
        }
    };
    const auto each_again = [&](schedule::settings order, int width) {
        for (const schedule::rematerialize again : o.again) {
            // Elsewhere what goes forward last does not go backward first.
            if (again != schedule::rematerialize::except_last ||
                (order.which == schedule::kind::gpipe && order.workers > 1)) {
                order.again = again;
                each_inside(order, width);
            }
        }
    };
    for (int used = devices; used >= 1; used = o.fewer_devices ? used / 2 : 0) {
        for (const int m : o.micro_batches) {
            schedule::settings order;
            order.which = schedule::kind::fill_drain;
            order.micro_batches = m;
            each_again(order, used);
            for (const schedule::kind which : o.schedules) {
                order.which = which;
                if (m == 1 && (which == schedule::kind::gpipe || which == schedule::kind::gems ||
                               which == schedule::kind::one_forward_one_backward)) {
                    continue; // one micro-batch goes through as in fill_drain
                }
                for (order.workers = 2; order.workers <= used; ++order.workers) {
                    const bool mirrors = order.mirrors() && used < devices; // the mirror is the whole machine's
                    if (used % order.workers != 0 || mirrors || m > 8 * order.workers) {
                        continue;
                    }
                    for (const int n : which == schedule::kind::interleaved ? o.chunks
                                       : which == schedule::kind::gems      ? o.parts
                                                                            : std::vector<int>{1}) {
                        (which == schedule::kind::gems ? order.parts : order.chunks) = n;
                        each_again(order, used / order.workers);
                    }
                    order.parts = 1;
                    order.chunks = 2;
                }
                order.workers = 1;
            }
        }
    }
    return all;
}

/// Calls `use` with every way to cut `n` operators into `stages`, if there are no more than `most`; false otherwise.
template <class Use>
bool every_cut(int n, int stages, int most, const Use& use) {
    double count = 1;
    for (int i = 0; i < stages - 1; ++i) {
        count = count * (n - 1 - i) / (i + 1);
    }
    if (count > most) {
        return false;
    }
    std::vector<int> cut; // operators at which stages begin
    for (int i = 1; i < stages; ++i) {
        cut.push_back(i);
    }
    while (true) {
        std::vector<int> stage(static_cast<std::size_t>(n), 0);
        for (const int c : cut) {
            for (int op = c; op < n; ++op) {
                ++stage[static_cast<std::size_t>(op)];
            }
        }
        use(stage);
        int last = stages - 2; // the last one that may move on
        while (last >= 0 && cut[static_cast<std::size_t>(last)] == n - (stages - 1) + last) {
            --last;
        }
        if (last < 0) {
            return true;
        }
        ++cut[static_cast<std::size_t>(last)];
        for (int i = last + 1; i < stages - 1; ++i) {
            cut[static_cast<std::size_t>(i)] = cut[static_cast<std::size_t>(i) - 1] + 1;
        }
    }
}

} // namespace detail

} // namespace tessera::search
