// SPDX-License-Identifier: Apache-2.0
// The schedules' closed forms, exactly: idle time, time and micro-batches in flight for a grid of stages and
// micro-batches.
#include "tessera/schedule/timetable.hpp"

#include "tessera/schedule/schedules.hpp"

#include "support/refusal.hpp"

#include <doctest/doctest.h>

#include <range/v3/view/cartesian_product.hpp>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/take.hpp>

#include <array>

#include <algorithm>
#include <array>

namespace {

namespace ts = tessera;
namespace views = ranges::views;
namespace schedule = tessera::schedule;
using schedule::action_times;
using schedule::timetable;
using ts::action_kind;
using ts::index_t;

/// Every worker is idle for `idle`.
void check_idle(const timetable& t, index_t idle) {
    for (std::size_t w = 0; w < t.busy.size(); ++w) {
        CHECK(t.idle(static_cast<int>(w)) == idle);
    }
}

const std::vector<action_times> several{{1, 1, 1, 1, 1}, {1, 2, 1, 1, 1}, {3, 5, 2, 3, 1}};

} // namespace

TEST_CASE("GPipe and 1F1B: idle for K-1 micro-batches, and as many in flight as their papers say") {
    for (int k = 1; k <= 8; ++k) {
        for (int m = 1; m <= 20; ++m) {
            CAPTURE(k);
            CAPTURE(m);
            for (const action_times& times : several) {
                const timetable all = schedule::timetable_of(schedule::gpipe(k, m), times);
                const timetable turns = schedule::timetable_of(schedule::one_forward_one_backward(k, m), times);
                // Idle share (K-1)/(M+K-1): Huang et al., section 2.3.
                CHECK(all.makespan == (m + k - 1) * (times.forward + times.backward));
                CHECK(turns.makespan == all.makespan);
                check_idle(all, (k - 1) * (times.forward + times.backward));
                check_idle(turns, (k - 1) * (times.forward + times.backward));
                for (int i = 0; i < k; ++i) {
                    CHECK(all.in_flight[ts::to_size(i)] == m);
                    CHECK(turns.in_flight[ts::to_size(i)] == std::min(k - i, m));
                }
            }
        }
    }
}

TEST_CASE("GPipe with recomputation: K-1 times forward, recomputation and backward, unless it begins early") {
    for (int k = 1; k <= 6; ++k) {
        for (int m = 1; m <= 8; ++m) {
            // Recomputing as part of backward: backward takes Tf + Tb.
            const action_times late{1, 3, 1, 1, 1};
            CHECK(schedule::timetable_of(schedule::gpipe(k, m), late).makespan == (m + k - 1) * 4);
            // As an action of its own it needs no gradient, so that all but the last stage do it while they wait.
            ts::pipeline_schedule early = schedule::gpipe(k, m);
            for (std::vector<ts::action>& list : early.workers) {
                std::vector<ts::action> longer;
                for (const ts::action& x : list) {
                    if (x.what == action_kind::backward) {
                        longer.push_back({x.stage, x.micro_batch, action_kind::recompute});
                    }
                    longer.push_back(x);
                }
                list = longer;
            }
            // M=1: forward through K stages, once more in the last, backward through K.
            const timetable t = schedule::timetable_of(early, action_times{1, 2, 1, 1, 1});
            CHECK(t.makespan <= (m + k - 1) * 4);
            CHECK((m > 1 || t.makespan == 3 * k + 1));
        }
    }
}

TEST_CASE("interleaved 1F1B: idle over busy is (K-1)/(V M)") {
    for (const auto& [k, v, groups, times] : views::cartesian_product(
             views::closed_iota(1, 6), views::closed_iota(1, 4), views::closed_iota(1, 4), several | views::take(2))) {
        const timetable t = schedule::timetable_of(schedule::interleaved(k, v, groups * k), times);
        check_idle(t, (k - 1) * (times.forward + times.backward));
        CHECK(t.busy[0] == v * groups * k * (times.forward + times.backward));
        const int most = v > 1 ? (k - 1) * 2 + (v - 1) * k + 1 : k; // of the first worker, in chunks
        CHECK(t.in_flight[0] == std::min(most, v * groups * k));
    }
}

TEST_CASE("ZB-H1: idle for (K-1)(Tf + Bi - W), K in flight everywhere, where there are at least K micro-batches") {
    for (int k = 1; k <= 8; ++k) {
        for (int m = k; m <= 3 * k; ++m) {
            for (const action_times& times : {action_times{1, 2, 1, 1, 1}, {3, 3, 2, 1, 1}, {2, 5, 3, 2, 1}}) {
                const timetable t = schedule::timetable_of(schedule::zero_bubble_h1(k, m), times);
                check_idle(t, (k - 1) * (times.forward + times.backward_input - times.backward_weight));
                for (int n : t.in_flight) {
                    CHECK(n == std::min(k, m));
                }
            }
        }
    }
}

TEST_CASE("actions that take no time are actions all the same") {
    const std::array some_take_none{action_times{0, 1, 1, 0, 0}, action_times{1, 0, 0, 0, 0},
                                    action_times{0, 0, 0, 0, 0}};
    for (const auto& [k, m, times] :
         views::cartesian_product(views::closed_iota(1, 6), views::closed_iota(1, 8), some_take_none)) {
        const timetable t = schedule::timetable_of(schedule::zero_bubble_h1(k, m, times), times);
        CHECK(t.actions.size() == ts::to_size(3 * k * m));
        CHECK(t.makespan <= (m + k - 1) * (times.forward + times.backward_input + times.backward_weight));
        if (k % 2 == 0 && m % 2 == 0) {
            CHECK(schedule::timetable_of(schedule::chimera(k, m, times), times).actions.size() ==
                  ts::to_size(2 * k * m));
        }
    }
}

TEST_CASE("Chimera: both of its ratios, and from D/2+1 to D in flight") {
    for (int d = 2; d <= 16; d += 2) {
        const action_times equal{1, 1, 1, 1, 1};
        const action_times twice{1, 2, 1, 1, 1};
        for (int units = 1; units <= 3; ++units) {
            const int n = units * d;
            // (D-2)/(2N+D-2) with Tb = Tf.
            check_idle(schedule::timetable_of(schedule::chimera(d, n, equal), equal), d - 2);
        }
        // (D-2)/(1.5N+D-2) with Tb = 2 Tf and N = D: of 5D-4 units.
        const timetable t = schedule::timetable_of(schedule::chimera(d, d, twice), twice);
        CHECK(t.makespan == 5 * d - 4);
        check_idle(t, 2 * (d - 2));
        for (int n : t.in_flight) {
            CHECK(n >= d / 2 + 1);
            CHECK(n <= d);
        }
    }
}

TEST_CASE(
    "ZB-V: no idle time between a worker's first and last action, 2K chunks in flight, from 2K-1 micro-batches on") {
    for (int k = 1; k <= 8; ++k) {
        for (int m = 1; m <= 4 * k; ++m) {
            CAPTURE(k);
            CAPTURE(m);
            const timetable t = schedule::timetable_of(schedule::zero_bubble_v(k, m), action_times{1, 2, 1, 1, 1});
            std::vector<index_t> first(ts::to_size(k), -1);
            std::vector<index_t> last(ts::to_size(k), 0);
            for (const timetable::entry& e : t.actions) {
                index_t& begin = first[ts::to_size(e.worker)];
                begin = begin < 0 ? e.start : begin;
                last[ts::to_size(e.worker)] = e.end;
            }
            for (int w = 0; w < k; ++w) {
                const auto at = ts::to_size(w);
                CHECK(t.busy[at] == 6 * m);
                CHECK(t.in_flight[at] <= 2 * k); // chunks of half a stage: what 1F1B's first stage keeps
                if (m >= 2 * k - 1) {
                    CHECK(first[at] == w);
                    CHECK(last[at] - first[at] == t.busy[at]);
                    CHECK(t.in_flight[at] == 2 * k);
                }
            }
            CHECK((m < 2 * k - 1 || t.makespan == 6 * m + k - 1));
        }
    }
}

TEST_CASE("plain model parallelism: M K (Tf + Tb), one micro-batch in flight") {
    for (int k = 1; k <= 8; ++k) {
        for (int m = 1; m <= 8; ++m) {
            for (const action_times& times : several) {
                const timetable t = schedule::timetable_of(schedule::fill_drain(k, m), times);
                CHECK(t.makespan == m * k * (times.forward + times.backward));
                check_idle(t, m * (k - 1) * (times.forward + times.backward));
                for (int n : t.in_flight) {
                    CHECK(n == 1);
                }
            }
        }
    }
}

TEST_CASE("GEMS: K Tf + R K Tb + (R-1) Tf, one mini-batch in flight; with P parts (K+P-1)(Tf + R Tb) + (R-1) P Tf") {
    for (int k = 1; k <= 8; ++k) {
        for (int r = 1; r <= 16; ++r) {
            for (int parts = 1; parts <= 4; ++parts) {
                for (const action_times& times : several) { // of one part
                    const timetable t = schedule::timetable_of(schedule::gems(k, r, parts), times);
                    CHECK(t.makespan ==
                          (k + parts - 1) * (times.forward + r * times.backward) + (r - 1) * parts * times.forward);
                    CHECK((parts > 1 ||
                           t.makespan == k * times.forward + r * k * times.backward + (r - 1) * times.forward));
                    for (int n : t.in_flight) {
                        CHECK(n == parts);
                    }
                }
            }
        }
    }
}

TEST_CASE("every kind by its name is a schedule of its stages, or is refused where it says so") {
    int made = 0;
    int refused = 0;
    for (const schedule::schedule_record* which : schedule::library_schedules) {
        for (int k = 1; k <= 5; ++k) {
            for (int m = 1; m <= 8; ++m) {
                schedule::settings x;
                x.which = which;
                x.workers = k;
                x.micro_batches = m;
                if (which == &schedule::gems_record) {
                    x.options.set("parts", 1 + m / 2 % 2);
                }
                CAPTURE(schedule::to_text(x));
                if (!schedule::is_possible(x)) {
                    CHECK_THROWS_AS((void)schedule::make(x), ts::error);
                    ++refused;
                    continue;
                }
                const ts::pipeline_schedule s = schedule::make(x);
                const timetable t = schedule::timetable_of(s);
                CHECK(std::is_sorted(t.actions.begin(), t.actions.end(),
                                     [](const auto& a, const auto& b) { return a.start < b.start; }));
                CHECK(s.stages == x.stages());
                CHECK(s.micro_batches == m);
                CHECK(static_cast<int>(s.workers.size()) == k);
                const std::vector<int> home = schedule::workers_of_stages(s);
                for (int i = 0; i < s.stages; ++i) {
                    CHECK(x.worker_of(i) == home[ts::to_size(i)]);
                }
                for (const timetable::entry& e : t.actions) {
                    const int worker = home[ts::to_size(e.what.stage)];
                    CHECK(e.worker == (s.is_mirrored(e.what.micro_batch) ? k - 1 - worker : worker));
                    CHECK(s.keeps_results(e.what.micro_batch));
                }
                ++made;
            }
        }
    }
    for (const auto& [workers, micro_batches, value] :
         std::vector<std::array<int, 3>>{{0, 4, 1}, {2, 0, 1}, {2, 4, 0}, {1, 1, 1}}) { // each bad number by itself
        for (const schedule::schedule_record* which : schedule::library_schedules) {
            schedule::settings x{which, workers, micro_batches};
            for (const ts::option_row& o : which->options) {
                if (!o.name.empty()) {
                    x.options.set(o.name, value);
                }
            }
            const bool even = which != &schedule::chimera_record;
            const bool plain = which->options[0].name.empty();
            CHECK(schedule::is_possible(x) == (value == 0 ? plain : workers == 1 && micro_batches == 1 && even));
        }
    }
    CHECK(made == 255);
    CHECK(refused == 65);
    schedule::settings gems{&schedule::gems_record, 4, 8, {}, schedule::rematerialize::except_last};
    gems.options.set("parts", 2);
    CHECK(schedule::to_text(gems) ==
          "GEMS, 4 workers, 8 micro-batches in mini-batches of 2, all but the last recomputed");
    CHECK((!schedule::make(gems).keeps_results(6) && schedule::make(gems).keeps_results(7)));
}

TEST_CASE("what is no schedule is refused with the action and the reason") {
    const auto message = [](const ts::pipeline_schedule& s) {
        return test_support::message_of([&] { (void)schedule::timetable_of(s); });
    };
    using test_support::text_of_rule;
    using ts::rule;
    ts::pipeline_schedule s = schedule::gpipe(2, 2);
    CHECK(message(s) == "accepted");
    std::swap(s.workers[1][0], s.workers[1][2]);
    CHECK(message(s) == text_of_rule(rule::schedule_waits_for_itself, 6, 0, "backward of stage 0, micro-batch 1, "));
    s = schedule::gpipe(2, 2);
    s.workers[0].push_back({0, 1, action_kind::forward});
    CHECK(message(s) == text_of_rule(rule::action_comes_twice, 2, 1, "forward of stage 0, micro-batch 1, "));
    s = schedule::gpipe(2, 2);
    s.workers[0].erase(s.workers[0].begin());
    CHECK(message(s) == text_of_rule(rule::action_is_missing, 0, 1, "forward of stage 0, micro-batch 0, "));
    s = schedule::gpipe(2, 2);
    s.workers[1].pop_back();
    CHECK(message(s) == text_of_rule(rule::backward_not_once, 0, 1, "backward of stage 1, micro-batch 0, "));
    s = schedule::zero_bubble_h1(2, 2);
    s.workers[1].pop_back();
    CHECK(message(s) == text_of_rule(rule::backward_not_once, 0, 1, "backward of stage 1, micro-batch 1, "));
    s.workers[1].push_back({1, 1, action_kind::backward});
    CHECK(message(s) == text_of_rule(rule::backward_not_once, 2, 1, "backward of stage 1, micro-batch 1, "));
    s.workers[1].push_back({1, 1, action_kind::backward_weight});
    CHECK(message(s) == text_of_rule(rule::backward_not_once, 2, 1, "backward of stage 1, micro-batch 1, "));
    s = schedule::gpipe(2, 2);
    s.workers[1].push_back(s.workers[0].back());
    s.workers[0].pop_back();
    CHECK(message(s) == text_of_rule(rule::action_on_other_worker, 1, 0, "backward of stage 0, micro-batch 0, "));
    s = schedule::gpipe(2, 2);
    s.workers[0][0].stage = -1;
    CHECK(message(s) == text_of_rule(rule::action_outside_schedule, -1, 2, "forward, micro-batch 0, "));
    s = schedule::gpipe(2, 2);
    s.workers[0][0].micro_batch = 2;
    const std::string outside =
        text_of_rule(rule::action_outside_schedule, 2, 2, "forward of stage 0, micro-batch 2, ");
    CHECK(message(s) == outside);
    CHECK(test_support::message_of([&] { (void)schedule::workers_of_stages(s); }) == outside);
    s.stages = -1;
    CHECK(message(s) == text_of_rule(rule::pipeline_is_empty, -1, 1));
    s = schedule::gpipe(2, 2);
    s.mirrored = {1};
    CHECK(message(s) == text_of_rule(rule::marks_for_other_micro_batches, 1, 2));
    s = schedule::gpipe(2, 2);
    s.keeps.push_back(0);
    CHECK(message(s) == text_of_rule(rule::marks_for_other_micro_batches, 3, 2));
    const auto timed = [](const std::vector<schedule::action_times>& times,
                          const std::vector<std::vector<int>>& follows) {
        return test_support::message_of([&] { (void)schedule::timetable_of(schedule::gpipe(2, 2), times, follows); });
    };
    CHECK(timed({}, schedule::chain_of_stages(2)) == text_of_rule(rule::times_for_other_stages, 0, 2));
    CHECK(timed({{}}, schedule::chain_of_stages(3)) == text_of_rule(rule::followers_of_other_stages, 3, 2));
    CHECK(timed({{}}, {{1}, {2}}) == text_of_rule(rule::followers_of_other_stages, 2, 2));
    CHECK(test_support::message_of([] {
              (void)schedule::chimera(2, 2, {1, -2});
          }) == text_of_rule(rule::time_is_negative, -2, 0, "backward, "));
    CHECK(test_support::message_of([] {
              (void)schedule::timetable_of(schedule::gpipe(2, 2), {1, 2, 1, 1, -1});
          }) == text_of_rule(rule::time_is_negative, -1, 0, "recompute, "));
    CHECK(test_support::message_of([] { (void)schedule::interleaved(4, 2, 6); }) ==
          text_of_rule(rule::interleaved_in_groups, 6, 4));
    CHECK(test_support::message_of([] { (void)schedule::chimera(3, 4); }) ==
          text_of_rule(rule::chimera_in_pairs, 3, 2));
    CHECK(test_support::message_of([] { (void)schedule::chimera(4, 3); }) ==
          text_of_rule(rule::chimera_in_pairs, 3, 2));
    CHECK(test_support::message_of([] { (void)schedule::gems(2, 0); }) == text_of_rule(rule::pipeline_is_empty, 0, 1));
    CHECK(test_support::message_of([] { (void)schedule::gems(2, 1, -1); }) ==
          text_of_rule(rule::pipeline_is_empty, -1, 1));
    CHECK(test_support::message_of([] { (void)schedule::gpipe(2, 0); }) == text_of_rule(rule::pipeline_is_empty, 0, 1));
}
