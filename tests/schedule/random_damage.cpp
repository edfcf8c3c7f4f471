// SPDX-License-Identifier: Apache-2.0
// Plans are verified before they run: damaged plans of random networks. benchmarks/schedules/random_damage tries more
// than 100,000.
#include "support/random_damage.hpp"

#include <doctest/doctest.h>

using namespace test_support;

TEST_CASE(
    "a plan with one number, entry or task that is wrong is refused, or computes the right numbers all the same") {
    damage_findings found;
    for (std::uint64_t number = 500000; found.networks < 150; ++number) {
        damage_plans(number, 40, found);
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
            const auto take = [&](int which, int instead) {
                std::replace(t.reads.begin(), t.reads.end(), which, instead);
                std::replace(std::begin(t.value), std::end(t.value), which, instead);
            };
            if ((t.kind == ts::task_kind::reduce || t.kind == ts::task_kind::update) && batches < 3) {
                for (const ts::task& s : c.p.tasks) { // adds a micro-batch's gradient to the first one's
                    if (s.kind == ts::task_kind::sum && s.reads.size() == 2 && s.reads[0] == s.writes[0] &&
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
            const bool backward = t.kind == ts::task_kind::compute &&
                                  (t.what == ts::pass::backward || t.what == ts::pass::backward_input ||
                                   t.what == ts::pass::backward_weight);
            if (!backward || parts >= 3) {
                continue;
            }
            for (const int r : std::vector<int>(t.reads)) {
                const auto part_of = [&](const ts::tile& x) {
                    const ts::tile& whole = p.tiles[place(r)];
                    return x.kind == ts::tile_kind::activation && whole.kind == x.kind && x.tensor == whole.tensor &&
                           x.device == whole.device && x.region == whole.region && x.step == whole.step &&
                           x.micro_batch == whole.micro_batch && x.part != whole.part;
                };
                const auto x = std::find_if(p.tiles.begin(), p.tiles.end(), part_of);
                if (x != p.tiles.end() && std::count(std::begin(t.value), std::end(t.value), r) > 0) {
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
