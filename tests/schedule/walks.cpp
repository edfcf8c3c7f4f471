// SPDX-License-Identifier: Apache-2.0
// The schedules against walks of their own: list schedulers written from the papers' rules, which share no code with
// the library. TESSERA_STRATEGIES=10000 draws as many orders of two opposite pipelines.
#include "tessera/schedule/schedules.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <tuple>

namespace {

namespace ts = tessera;
namespace schedule = tessera::schedule;
using schedule::action_times;
using ts::index_t;

/// An action as (stage, micro-batch, what): F forward, B backward, G gradients of inputs alone, W of weights.
using job = std::tuple<int, int, char>;
using lists = std::vector<std::vector<job>>;
/// What an action of a kind takes on a stage.
using durations = std::map<char, std::vector<index_t>>;

/// When everything has ended if every worker takes its list in order, and what crosses from stage to stage takes
/// `latency`.
index_t walk(const lists& of, int stages, const durations& takes, index_t latency = 0) {
    std::map<job, index_t> end;
    std::vector<std::size_t> next(of.size(), 0);
    std::vector<index_t> free(of.size(), 0);
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t w = 0; w < of.size(); ++w) {
            for (; next[w] < of[w].size(); ++next[w]) {
                const auto [stage, m, what] = of[w][next[w]];
                index_t start = free[w];
                bool known = true;
                const auto after = [&](const job& other, index_t way) {
                    const auto found = end.find(other);
                    known = known && found != end.end();
                    start = known ? std::max(start, found->second + way) : start;
                };
                if (what == 'F' && stage > 0) {
                    after({stage - 1, m, 'F'}, latency);
                } else if (what == 'W') {
                    after({stage, m, 'G'}, 0);
                } else if (what != 'F') {
                    after({stage, m, 'F'}, 0);
                    if (stage + 1 < stages) {
                        after({stage + 1, m, what}, latency);
                    }
                }
                if (!known) {
                    break;
                }
                free[w] = end[of[w][next[w]]] = start + takes.at(what)[ts::to_size(stage)];
                moved = true;
            }
        }
    }
    index_t last = 0;
    for (std::size_t w = 0; w < of.size(); ++w) {
        REQUIRE(next[w] == of[w].size());
        last = std::max(last, free[w]);
    }
    return last;
}

/// Megatron-LM's order of virtual pipelines, from the paper's figure 4: micro-batches in groups of the workers' number
/// pass through chunk after chunk. As many forward first as the warm-up says; `as_megatron`: all of them where there
/// are as many micro-batches as workers (schedules.py).
lists virtual_pipelines(int workers, int chunks, int micro_batches, bool as_megatron) {
    lists result(ts::to_size(workers));
    for (int w = 0; w < workers; ++w) {
        std::vector<job> forward;
        std::vector<job> backward;
        for (int group = 0; group < micro_batches; group += workers) {
            for (int c = 0; c < chunks; ++c) {
                for (int m = group; m < group + workers; ++m) {
                    forward.emplace_back(c * workers + w, m, 'F');
                    backward.emplace_back((chunks - 1 - c) * workers + w, m, 'B');
                }
            }
        }
        const std::size_t all = forward.size();
        std::size_t warm =
            chunks == 1 ? ts::to_size(workers - w - 1) : ts::to_size((workers - w - 1) * 2 + (chunks - 1) * workers);
        warm = std::min(warm, all);
        warm = as_megatron && micro_batches == workers ? all : warm;
        std::vector<job>& list = result[ts::to_size(w)];
        list.assign(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(warm));
        for (std::size_t i = 0; i + warm < all; ++i) {
            list.push_back(forward[warm + i]);
            list.push_back(backward[i]);
        }
        list.insert(list.end(), backward.end() - static_cast<std::ptrdiff_t>(warm), backward.end());
    }
    return result;
}

/// Zero bubble's first schedule as an event loop: forward and gradients of inputs in 1F1B's order as soon as they can,
/// weights' gradients while a worker would wait. In units of one.
index_t eager_zero_bubble(int stages, int micro_batches, const action_times& t) {
    const index_t never = INT64_MAX / 2;
    std::vector<std::vector<index_t>> forward(ts::to_size(stages),
                                              std::vector<index_t>(ts::to_size(micro_batches), never));
    auto inputs = forward;
    std::vector<std::array<int, 3>> done(ts::to_size(stages), {0, 0, 0}); // F, G, W
    std::vector<index_t> busy(ts::to_size(stages), 0);
    index_t last = 0;
    for (index_t now = 0, left = index_t{3} * stages * micro_batches; left > 0; ++now) {
        for (int i = 0; i < stages; ++i) {
            auto& [f, g, w] = done[ts::to_size(i)];
            if (busy[ts::to_size(i)] > now) {
                continue;
            }
            const int ahead = std::min(stages - 1 - i, micro_batches);
            const bool forward_next = f < micro_batches && f - g <= ahead;
            index_t takes = 0;
            if (forward_next ? i == 0 || forward[ts::to_size(i - 1)][ts::to_size(f)] <= now
                             : g < micro_batches && forward[ts::to_size(i)][ts::to_size(g)] <= now &&
                                   (i + 1 == stages || inputs[ts::to_size(i + 1)][ts::to_size(g)] <= now)) {
                takes = forward_next ? t.forward : t.backward_input;
                (forward_next ? forward[ts::to_size(i)][ts::to_size(f++)] : inputs[ts::to_size(i)][ts::to_size(g++)]) =
                    now + takes;
            } else if (w < g) {
                takes = t.backward_weight;
                ++w;
            } else {
                continue;
            }
            busy[ts::to_size(i)] = now + takes;
            last = std::max(last, busy[ts::to_size(i)]);
            --left;
        }
    }
    return last;
}

/// Two opposite pipelines, action by action in units of one, by a drawn order of preference: for each worker and
/// micro-batch a number.
index_t drawn_opposite(int stages, int micro_batches, const action_times& t, int most, std::uint64_t seed) {
    const auto random = [&seed] {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        return static_cast<int>(seed >> 40);
    };
    const int reach = 1 + random() % stages;
    const int late = std::array{0, 1, stages / 2, stages, 4 * micro_batches}[ts::to_size(random() % 5)];
    std::vector<std::vector<int>> rank(ts::to_size(stages));
    for (auto& of : rank) {
        for (int m = 0; m < micro_batches; ++m) {
            of.push_back(100 * m + random() % (100 * reach));
        }
    }
    // Of every micro-batch: how many of its 2 * stages actions are done, and when the last of them ends. One action
    // follows the other.
    std::vector<int> actions(ts::to_size(micro_batches), 0);
    std::vector<index_t> ends(ts::to_size(micro_batches), 0);
    std::vector<index_t> busy(ts::to_size(stages), 0);
    std::array<int, 2> begun{};
    std::array<int, 2> ended{};
    index_t last = 0;
    for (index_t now = 0, left = index_t{2} * stages * micro_batches; left > 0; ++now) {
        for (int w = 0; w < stages; ++w) {
            int best = -1;
            int least = 0;
            for (int m = 0; m < micro_batches && busy[ts::to_size(w)] <= now; ++m) {
                const int action = actions[ts::to_size(m)];
                const int stage = action < stages ? action : 2 * stages - 1 - action;
                const int side = m % 2;
                const bool may = action > 0 || (begun[ts::to_size(side)] - ended[ts::to_size(side)] < most &&
                                                m / 2 == begun[ts::to_size(side)]);
                if (action == 2 * stages || (side == 0 ? stage : stages - 1 - stage) != w ||
                    ends[ts::to_size(m)] > now || !may) {
                    continue;
                }
                const int r = rank[ts::to_size(w)][ts::to_size(m)] + (action < stages ? 100 * late : 0);
                if (best < 0 || r < least) {
                    best = m;
                    least = r;
                }
            }
            if (best >= 0) {
                int& action = actions[ts::to_size(best)];
                begun[ts::to_size(best % 2)] += action == 0 ? 1 : 0;
                busy[ts::to_size(w)] = ends[ts::to_size(best)] = now + (action < stages ? t.forward : t.backward);
                ended[ts::to_size(best % 2)] += ++action == 2 * stages ? 1 : 0;
                last = std::max(last, busy[ts::to_size(w)]);
                --left;
            }
        }
    }
    return last;
}

/// Times of the stages, drawn between 5 and 10.
struct drawn_stages {
    std::vector<action_times> given;
    durations walked;

    drawn_stages(int stages, std::uint64_t& seed) {
        for (int i = 0; i < stages; ++i) {
            const auto some = [&] {
                seed = seed * 6364136223846793005U + 1442695040888963407U;
                return static_cast<index_t>(5 + (seed >> 40) % 6);
            };
            const action_times t{some(), 2 * some(), some(), some(), 1};
            given.push_back(t);
            walked['F'].push_back(t.forward);
            walked['B'].push_back(t.backward);
            walked['G'].push_back(t.backward_input);
            walked['W'].push_back(t.backward_weight);
        }
    }
};

durations equal_stages(int stages, const action_times& t) {
    const auto all = [&](index_t x) { return std::vector<index_t>(ts::to_size(stages), x); };
    return {{'F', all(t.forward)}, {'B', all(t.backward)}, {'G', all(t.backward_input)}, {'W', all(t.backward_weight)}};
}

double percent(index_t a, index_t b) { return 100.0 * static_cast<double>(a - b) / static_cast<double>(b); }

} // namespace

TEST_CASE("interleaved 1F1B is the walk of Megatron-LM's order; with M = K, where that takes all forward first, never "
          "slower") {
    std::uint64_t seed = 1;
    double most = 0;
    for (int k = 1; k <= 6; ++k) {
        for (int v = 1; v <= 4; ++v) {
            for (const int m : {k, 2 * k, 3 * k}) {
                CAPTURE(k);
                CAPTURE(v);
                CAPTURE(m);
                const ts::pipeline_schedule s = schedule::interleaved(k, v, m);
                const drawn_stages times(k * v, seed);
                const auto chain = schedule::chain_of_stages(k * v);
                const index_t ours = schedule::timetable_of(s, times.given, chain).makespan;
                CHECK(ours == walk(virtual_pipelines(k, v, m, false), k * v, times.walked));
                const index_t theirs = walk(virtual_pipelines(k, v, m, true), k * v, times.walked);
                CHECK(theirs >= ours);
                CHECK((m == k || theirs == ours));
                most = std::max(most, percent(theirs, ours));
                const action_times same{2, 3, 1, 1, 1}; // no difference where stages take equally long
                CHECK(schedule::timetable_of(s, same).makespan ==
                      walk(virtual_pipelines(k, v, m, true), k * v, equal_stages(k * v, same)));
            }
        }
    }
    MESSAGE("M = K: all forward first takes up to " << most << " % longer where stages differ");
    CHECK(most > 2);
    CHECK(most < 15);
}

TEST_CASE("ZB-H1 with fewer micro-batches than stages is never slower than the weights' gradients in the waits") {
    double fixed_slower = 0;
    double fixed_faster = 0;
    for (int k = 2; k <= 8; ++k) {
        for (int m = 1; m <= k + 2; ++m) {
            for (const action_times& t : {action_times{1, 2, 1, 1, 1},
                                          {2, 3, 2, 1, 1},
                                          {3, 7, 5, 2, 1},
                                          {3, 5, 2, 3, 1},
                                          {2, 7, 3, 4, 1},
                                          {4, 7, 4, 3, 1}}) {
                CAPTURE(k);
                CAPTURE(m);
                const index_t ours = schedule::timetable_of(schedule::zero_bubble_h1(k, m, t), t).makespan;
                const index_t eager = eager_zero_bubble(k, m, t);
                // The fixed order by itself: what no times are given for, as an action of each kind takes one.
                const index_t fixed = schedule::timetable_of(schedule::zero_bubble_h1(k, m), t).makespan;
                if (m >= k) {
                    CHECK(ours == fixed);
                    continue;
                }
                CHECK(ours == std::min(eager, fixed));
                fixed_slower = std::max(fixed_slower, percent(fixed, eager));
                fixed_faster = std::max(fixed_faster, percent(eager, fixed));
            }
        }
    }
    MESSAGE("ZB-H1's fixed order, M < K: up to " << fixed_slower << " % slower and " << fixed_faster
                                                 << " % faster than weights' gradients in the waits");
    CHECK(fixed_slower > 2);
    CHECK(fixed_faster > 0.5);
}

TEST_CASE("Chimera for N > D: near the best of many drawn orders, and as many in flight as it says") {
    const char* said = std::getenv("TESSERA_STRATEGIES");
    const int draws = said != nullptr ? std::max(std::atoi(said), 1) : 100;
    double usual = 0;
    double worst = 0;
    for (const action_times& t : {action_times{1, 1, 1, 1, 1}, {1, 2, 1, 1, 1}, {2, 3, 1, 1, 1}, {1, 3, 1, 1, 1}}) {
        for (const int d : {4, 6, 8}) {
            for (const int n : {d, d + 2, 2 * d, 3 * d, 4 * d, 6 * d}) {
                if (said == nullptr && d * n > 100) {
                    continue;
                }
                CAPTURE(d);
                CAPTURE(n);
                const schedule::timetable ours = schedule::timetable_of(schedule::chimera(d, n, t), t);
                index_t best = ours.makespan;
                for (int i = 0; i < draws; ++i) {
                    const auto seed = static_cast<std::uint64_t>(i) * 7919 + 1;
                    best = std::min(best, drawn_opposite(d, n, t, d - i % (d / 2 + 1), seed));
                }
                const double longer = percent(ours.makespan, best);
                if (said != nullptr) {
                    MESSAGE("D " << d << ", N " << n << ", Tb / Tf "
                                 << static_cast<double>(t.backward) / static_cast<double>(t.forward) << ": "
                                 << ours.makespan << ", best drawn " << best << ", " << longer << " %, in flight "
                                 << *std::max_element(ours.in_flight.begin(), ours.in_flight.end()));
                }
                const bool multiple = n % d == 0;
                const bool exact = n == d || (multiple && t.backward == t.forward);
                const double allowed = exact                                     ? 0
                                       : multiple && n > 2 * d                   ? 3
                                       : multiple && t.backward <= 2 * t.forward ? 7
                                       : multiple                                ? 16
                                                                                 : 8;
                CHECK(longer <= allowed);
                double& of = multiple && n > 2 * d ? usual : worst;
                of = std::max(of, longer);
                for (const int in_flight : ours.in_flight) {
                    CHECK(in_flight <= std::min(n, exact ? d : 2 * d));
                }
            }
        }
    }
    MESSAGE("Chimera over the best of " << draws << " drawn orders: up to " << usual
                                        << " % longer for N = 3D and more, up to " << worst << " % for fewer");
}
