// SPDX-License-Identifier: Apache-2.0
// Plans are verified before they run: damaged plans of random networks. benchmarks/schedules/random_damage tries more
// than 100,000.
#include "support/random_damage.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

using namespace test_support;

TEST_CASE(
    "a plan with one number, entry or task that is wrong is refused, or computes the right numbers all the same") {
    damage_findings found;
    for (std::uint64_t number = 500000; found.networks < 150; ++number) {
        damage_plans(number, 40, found);
    }
    for (const std::uint64_t number :
         {20689U, 20931U, 20980U, 21017U, 21862U, 30829U, 31636U, 32548U}) { // each was accepted, or thrown at, once
        damage_plans(number, 60, found);
    }
    for (const std::string& w : found.wrong) {
        FAIL_CHECK(w);
    }
    CHECK(found.damages > 5000);
    CHECK(found.refused.rows.size() > 200); // things that were damaged
    CHECK(found.rules.rows.size() > 40);
    CHECK(found.right > 700); // and not everything is refused
    MESSAGE(found.damages << " damages, " << found.refused.total() << " refused, " << found.right
                          << " accepted and right");
}

namespace {

/// Checks that each field of a struct has been damaged, as "field NAME of a ..." says.
template <class Struct>
void check_all_fields(const counts_by_name& tried, const std::string& of, Struct s = Struct()) {
    each_field(s, [&](std::string_view name, auto&, bool) {
        const std::string begin = "field " + std::string(name);
        int count = 0;
        for (const auto& [what, times] : tried.rows) {
            const bool own = what.compare(0, begin.size(), begin) == 0 &&
                             (what[begin.size()] == ' ' || what[begin.size()] == '.') &&
                             what.find(of) != std::string::npos;
            count += own ? times : 0;
        }
        CAPTURE(begin + of);
        CHECK(count > 0);
    });
}

} // namespace

TEST_CASE("every field of tasks of every kind, of tiles and of the plan is damaged, and no harm is accepted") {
    counts_by_name tried;
    int harmful = 0;
    std::array<int, static_cast<std::size_t>(ts::task_kind::decompress) + 1> kinds{};
    const auto all_seen = [&] { return std::count(kinds.begin(), kinds.end(), 0) == 1; }; // but reorders
    for (std::uint64_t number = 700000; number < 700060 || (number < 701500 && !all_seen()); ++number) {
        const damage_case c(number);
        const auto is_new = [&](const ts::task& t) { return kinds[static_cast<std::size_t>(t.kind())] == 0; };
        if (!c.usable || (number >= 700060 && std::none_of(c.p.tasks.begin(), c.p.tasks.end(), is_new))) {
            continue;
        }
        const batch_data data(c.network.view(), number + 1);
        const plan_numbers expected = plan_runner(c, c.p, data).run(0);
        struct test_support::random pick {
            ts::op::mix(number)
        };
        std::array<bool, kinds.size()> here{};
        for (std::size_t i = 0; i < c.p.tasks.size(); ++i) { // the first task of each kind
            const auto kind = static_cast<std::size_t>(c.p.tasks[i].kind());
            if (here[kind] || kinds[kind] == 3) {
                continue;
            }
            here[kind] = true;
            ++kinds[kind];
            for (int f = 0; f < field_count(c.p.tasks[i]); ++f) {
                ts::plan p = c.p;
                const std::string what = field_damager(c.p, pick).field_of(p.tasks[i], p.tasks[i], f);
                if (what.empty()) {
                    continue;
                }
                tried.add("field " + what + " of a " + ts::to_text(c.p.tasks[i].kind()));
                if (!ts::verify(c.network.view(), p, 0, &c.made.how) &&
                    judge_damaged(c, p, data, expected) != damage_verdict::right) {
                    ++harmful;
                    FAIL_CHECK(c.what << ": " << what << " of a " << ts::to_text(c.p.tasks[i].kind()));
                }
            }
        }
        for (int i = 0; i < 26 && number < 700060; ++i) {
            ts::plan p = c.p;
            std::string what;
            if (i < 24) {
                what = damage_a_field(p, pick);
            } else if (i == 25 && !p.host_persistent_bytes.empty()) { // few plans have any
                *std::max_element(p.host_persistent_bytes.begin(), p.host_persistent_bytes.end()) -= 64;
                what = "field host_persistent_bytes of the plan";
            } else if (i == 24 && !p.host_bytes.empty()) {
                *std::max_element(p.host_bytes.begin(), p.host_bytes.end()) -= 64;
                what = "field host_bytes of the plan";
            }
            if (what.empty()) {
                continue;
            }
            tried.add(what);
            if (!ts::verify(c.network.view(), p, 0, &c.made.how) &&
                judge_damaged(c, p, data, expected) != damage_verdict::right) {
                ++harmful;
                FAIL_CHECK(c.what << ": " << what);
            }
        }
    }
    CHECK(harmful == 0);
    for (const ts::task_kind kind : {ts::task_kind::compute, ts::task_kind::copy, ts::task_kind::update}) {
        check_all_fields(tried, " of a ", ts::task(kind));
    }
    check_all_fields<ts::tile>(tried, " of a tile of ");
    check_all_fields<ts::plan>(tried, " of the plan");
    for (std::size_t k = 0; k < kinds.size(); ++k) {
        CAPTURE(std::string(ts::to_text(static_cast<ts::task_kind>(k))));
        CHECK((kinds[k] > 0) == (static_cast<ts::task_kind>(k) != ts::task_kind::reorder)); // which backends add
    }
}

TEST_CASE("what a kind of task has no use for is refused by name: the scale of a norm, the state of a reduction") {
    int norms = 0;
    int sums = 0;
    for (std::uint64_t number = 700000; number < 700200 && (norms < 3 || sums < 3); ++number) {
        const damage_case c(number);
        for (std::size_t i = 0; c.usable && i < c.p.tasks.size(); ++i) {
            const bool norm = c.p.tasks[i].kind() == ts::task_kind::norm;
            if ((!norm && c.p.tasks[i].kind() != ts::task_kind::reduce) || (norm ? norms : sums) > 2) {
                continue;
            }
            ts::plan p = c.p;
            ts::parameter_fields& own = p.tasks[i].mutable_params();
            if (norm) {
                own.scale = 2;
            } else {
                own.state = p.tasks[i].reads[0];
            }
            const std::string said = ts::verify(c.network.view(), p, 0, &c.made.how).text;
            CAPTURE(said);
            CHECK(said.find("says something that a task of its kind has no use for") != std::string::npos);
            ++(norm ? norms : sums);
        }
    }
    CHECK(norms == 3);
    CHECK(sums == 3);
}

TEST_CASE("a part of a sum in backward, and one micro-batch's gradient for that of all, are refused by name") {
    int parts = 0;
    int batches = 0;
    const auto refusal = [](const damage_case& c, ts::plan p) {
        ts::complete(p);
        return ts::verify(c.network.view(), p, 0, &c.made.how).text;
    };
    for (std::uint64_t number = 500000; number < 500400 && (parts < 3 || batches < 3); ++number) {
        const damage_case c(number);
        if (!c.usable || c.p.kind != ts::run_kind::training) {
            continue;
        }
        for (std::size_t i = 0; i < c.p.tasks.size(); ++i) {
            ts::plan p = c.p;
            ts::task& t = p.tasks[i];
            const auto take = [&](int which, int instead) { ts::replace_tile(t, which, instead); };
            if ((t.kind() == ts::task_kind::reduce || t.kind() == ts::task_kind::update) && batches < 3) {
                for (const ts::task& s : c.p.tasks) { // adds a micro-batch's gradient to the first one's
                    if (s.kind() == ts::task_kind::sum && s.reads.size() == 2 && s.reads[0] == s.writes[0] &&
                        std::count(t.reads.begin(), t.reads.end(), s.writes[0]) == 1) {
                        take(s.writes[0], s.reads[1]);
                        CAPTURE(refusal(c, p));
                        CHECK(refusal(c, p).find("a task takes a micro-batch's gradient for the sum of all") !=
                              std::string::npos);
                        ++batches;
                        break;
                    }
                }
            }
            const bool backward = t.kind() == ts::task_kind::compute &&
                                  (t.what == ts::pass::backward || t.what == ts::pass::backward_input ||
                                   t.what == ts::pass::backward_weight);
            if (!backward || parts >= 3) {
                continue;
            }
            for (const int r : std::vector<int>(t.reads)) {
                const auto part_of = [&](const ts::tile& x) {
                    const ts::tile& whole = p.tiles[ts::to_size(r)];
                    return x.kind == ts::tile_kind::activation && whole.kind == x.kind && x.tensor == whole.tensor &&
                           x.device == whole.device && x.region == whole.region && x.step == whole.step &&
                           x.micro_batch == whole.micro_batch && x.summand != whole.summand;
                };
                const auto x = std::find_if(p.tiles.begin(), p.tiles.end(), part_of);
                if (x != p.tiles.end() &&
                    std::count(std::begin(t.compute().value), std::end(t.compute().value), r) > 0) {
                    take(r, static_cast<int>(x - p.tiles.begin()));
                    const std::string said = refusal(c, p);
                    parts +=
                        said.find("a gradient is made of a part of a sum as if it were all of it") != std::string::npos
                            ? 1
                            : 0;
                    break;
                }
            }
        }
    }
    CHECK(parts >= 3);
    CHECK(batches == 3);
}

TEST_CASE("parameters in slices that are gathered for statistics over all micro-batches are no damage") {
    const damage_case c(20810, test_support::drawn_from::recorded);
    CHECK(c.what.find("GPipe, ZeRO 3 on 6 devices, 4 micro-batches") != std::string::npos);
    CHECK(c.p.joint_statistics);
    CHECK(c.usable);
}
