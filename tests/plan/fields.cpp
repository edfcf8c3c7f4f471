// SPDX-License-Identifier: Apache-2.0
// The lists of fields of a plan, of its tiles and of its tasks: whole, and followed by the hash, by what a task does
// for one of its parameters and by tasks that run by themselves.
#include "support/random_damage.hpp"

#include "tessera/plan/isolate.hpp"
#include "tessera/plan/parts.hpp"

#include <doctest/doctest.h>

using namespace test_support;

namespace {

struct anything {
    template <class T>
    operator T() const; // NOLINT: any initializer
};

/// How many members an aggregate has; an array counts as one.
template <class T, class... Found>
constexpr int member_count() {
    if constexpr (requires { T{{Found{}}..., {anything{}}}; }) {
        return member_count<T, Found..., anything>();
    } else {
        return static_cast<int>(sizeof...(Found));
    }
}

template <class T>
constexpr int listed_count() {
    int n = 0;
    T::each_field([&](const char*, auto, const ts::plan_field&) { ++n; });
    return n;
}

static_assert(listed_count<ts::tile>() == member_count<ts::tile>());
static_assert(listed_count<ts::common_fields>() == member_count<ts::common_fields>());
static_assert(listed_count<ts::compute_fields>() == member_count<ts::compute_fields>());
static_assert(listed_count<ts::copy_fields>() == member_count<ts::copy_fields>());
static_assert(listed_count<ts::parameter_fields>() == member_count<ts::parameter_fields>());
static_assert(listed_count<ts::copy_segment>() == member_count<ts::copy_segment>());
static_assert(listed_count<ts::wait_for>() == member_count<ts::wait_for>());
static_assert(listed_count<ts::task_parameter>() == member_count<ts::task_parameter>());
static_assert(listed_count<ts::result_piece>() == member_count<ts::result_piece>());
static_assert(listed_count<ts::plan>() + 3 == member_count<ts::plan>()); // tiles, tasks and the hash

/// Plans of random networks, each as lowered.
template <class Function>
void for_each_plan(std::uint64_t first, int count, Function f) {
    for (std::uint64_t number = first; count > 0; ++number) {
        const damage_case c(number);
        if (c.usable) {
            f(c);
            --count;
        }
    }
}

int number_of_a_tile(const ts::plan& p, struct test_support::random& pick) {
    return pick(static_cast<int>(p.tiles.size()));
}

} // namespace

TEST_CASE("the hash of a plan tells every field: of the plan, of its tiles and of tasks of all kinds") {
    int damages = 0;
    for_each_plan(510000, 60, [&](const damage_case& c) {
        struct test_support::random pick {
            ts::op::mix(c.p.hash)
        };
        CHECK(ts::hash_of(c.p) == c.p.hash);
        for (int i = 0; i < 60; ++i) {
            ts::plan p = c.p;
            const std::string what = damage_a_field(p, pick);
            if (what.empty() || what == "field hash of the plan") {
                continue;
            }
            CAPTURE(what);
            CHECK((ts::hash_of(p) == c.p.hash) == (p == c.p)); // a swap of two equal entries is no damage
            damages += p == c.p ? 0 : 1;
        }
    });
    CHECK(damages > 1500);
}

TEST_CASE("what a task does for one of its parameters has all that the task has for all of them") {
    int parts = 0;
    for_each_plan(520000, 80, [&](const damage_case& c) {
        struct test_support::random pick {
            ts::op::mix(c.p.hash)
        };
        for (const ts::task& whole : c.p.tasks) {
            if (whole.params().parts.empty()) {
                continue;
            }
            ts::task t = whole;
            t.late = !t.late;
            t.side_stream = !t.side_stream;
            t.nonfinite_count = number_of_a_tile(c.p, pick);
            t.scratch = number_of_a_tile(c.p, pick);
            t.priority = pick(1000);
            for (std::size_t i = 0; i < ts::part_count(t); ++i) {
                const ts::task one = ts::part_of(t, i);
                CHECK(one.kind() == t.kind());
                CHECK(one.device == t.device);
                CHECK(one.stream == t.stream);
                CHECK(one.late == t.late);
                CHECK(one.side_stream == t.side_stream);
                CHECK(one.nonfinite_count == t.nonfinite_count);
                CHECK(one.scratch == t.scratch);
                CHECK(one.priority == t.priority);
                CHECK(one.params().message == t.params().message);
                CHECK(one.params().method == t.params().method);
                CHECK(one.params().slice == t.params().slice);
                CHECK(one.params().slices == t.params().slices);
                CHECK(one.params().scale == t.params().scale);
                CHECK(one.params().counted_elsewhere == t.params().counted_elsewhere);
                CHECK(one.params().parts.empty());
                CHECK(one.params().parameter == t.params().parts[i].parameter);
                CHECK(one.params().state == t.params().parts[i].state);
                CHECK(one.waits.empty());
                ++parts;
            }
        }
    });
    CHECK(parts > 50);
}

TEST_CASE("a task by itself touches the tiles that it touched, under the numbers that they have there") {
    int norms = 0;
    for_each_plan(530000, 40, [&](const damage_case& c) {
        struct test_support::random pick {
            ts::op::mix(c.p.hash)
        };
        for (int i = 0; i < static_cast<int>(c.p.tasks.size()); ++i) {
            ts::plan p = c.p;
            ts::task& t = p.tasks[ts::to_size(i)];
            t.nonfinite_count = pick(2) == 0 ? number_of_a_tile(p, pick) : -1;
            const ts::plan alone = ts::isolate(p, i);
            std::vector<int> before;
            std::vector<int> after;
            ts::for_each_tile(t, [&](int x, const auto&) { before.push_back(x); });
            ts::for_each_tile(alone.tasks[0], [&](int x, const auto&) { after.push_back(x); });
            REQUIRE(before.size() == after.size());
            for (std::size_t k = 0; k < before.size(); ++k) {
                if (before[k] < 0) {
                    CHECK(after[k] < 0);
                    continue;
                }
                REQUIRE(after[k] >= 0);
                REQUIRE(after[k] < static_cast<int>(alone.tiles.size()));
                const ts::tile& x = p.tiles[ts::to_size(before[k])];
                const ts::tile& y = alone.tiles[ts::to_size(after[k])];
                CHECK(x.kind == y.kind);
                CHECK(x.tensor == y.tensor);
                CHECK(x.region == y.region);
                CHECK(x.device == y.device);
            }
            norms += t.params().layer_norms.empty() ? 0 : 1;
        }
    });
    CHECK(norms > 10);
}

TEST_CASE("fields of another kind read as their defaults, and cannot be written") {
    ts::task t(ts::task_kind::copy);
    CHECK(t.compute() == ts::compute_fields{});
    CHECK(t.params() == ts::parameter_fields{});
    CHECK_THROWS_AS(t.mutable_compute().first_nest = 1, std::bad_variant_access);
    CHECK_THROWS_AS(t.mutable_params().parameter = 1, std::bad_variant_access);
    t.mutable_copy().clear = true;
    t.become(ts::task_kind::update);
    CHECK(t.copy() == ts::copy_fields{});
    t.mutable_params().scale = 2;
    t.become(ts::task_kind::reduce); // of the same fields
    CHECK(t.params().scale == 2);
    t.become(ts::task_kind::sum);
    CHECK(t.params() == ts::parameter_fields{});
}
