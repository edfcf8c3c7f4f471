// SPDX-License-Identifier: Apache-2.0
// Numbers that count more than there can be are refused by a rule before anything is made of them, and modes that
// contradict each other too.
#include "support/networks.hpp"
#include "support/random_strategy.hpp"
#include "support/refusal.hpp"
#include "tessera/net/with_batch.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/schedule/parameter_average.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using test_support::contains;
using ts::index_t;
using ts::rule;

const ts::graph& mlp() {
    static const ts::graph g = ts::describe<test_networks::mlp::network>(64);
    return g;
}

template <class Change>
std::string verdict(Change&& change, const ts::graph& g = mlp()) {
    ts::strategy s(g.view());
    change(s);
    return test_support::message_of([&] { ts::require(g.view(), s.view(), 4); });
}

std::string words(rule broken) { return ts::to_text(broken); }

template <int Outputs>
struct big : ts::linear<Outputs> {};
template <index_t Features, int Outputs>
struct one_layer : ts::sequential<ts::features<Features>, big<Outputs>, ts::cross_entropy> {};

template <class Net>
std::string described(index_t batch) {
    return test_support::message_of([&] { ts::describe_at_run_time<Net>(batch); });
}

} // namespace

TEST_CASE("counts: micro-batches are at most the samples, steps of a plan 1024, tasks 2^23") {
    for (const int bad : {-1, 0, 65, 1 << 20, INT32_MAX}) {
        CHECK(contains(verdict([&](ts::strategy& s) { s.micro_batches = bad; }),
                       words(rule::micro_batches_out_of_range)));
    }
    CHECK(verdict([](ts::strategy& s) { s.micro_batches = 64; }) == "accepted");
    for (const int bad : {-3, 0, 1025, 3000, INT32_MAX}) {
        CHECK(contains(verdict([&](ts::strategy& s) { s.steps_per_plan = bad; }), words(rule::period_out_of_range)));
    }
    CHECK(verdict([](ts::strategy& s) { s.steps_per_plan = 1024; }) == "accepted");
    const ts::graph many = ts::describe<test_networks::mlp::network>(1 << 20);
    CHECK(verdict([](ts::strategy& s) { s.micro_batches = 1 << 18; }, many) == "accepted");
    for (const auto& [micro_batches, steps_per_plan] : {std::pair{1 << 20, 1}, std::pair{1 << 18, 4}}) {
        const int m = micro_batches;
        const int k = steps_per_plan;
        CHECK(contains(verdict(
                           [&](ts::strategy& s) {
                               s.micro_batches = m;
                               s.steps_per_plan = k;
                           },
                           many),
                       words(rule::plan_is_too_large)));
        ts::strategy s(many.view());
        s.micro_batches = m;
        s.steps_per_plan = k;
        CHECK_FALSE(ts::check_layout(many.view(), s.view(), 4)); // who never lowers it may have it
    }
}

TEST_CASE("counts: slices are at most as many as messages hold") {
    for (const int slices : {2, 1 << 20, INT32_MAX}) {
        ts::strategy s(mlp().view());
        for (int p = 0; p < mlp().view().parameter_count; ++p) {
            s.sync.messages.push_back({ts::exchange::sliced, 0, {{p, 0, p == 1 ? slices : 1}}});
        }
        const std::string why = test_support::message_of([&] { ts::lower(mlp().view(), s.view(), 2); });
        CHECK(why == test_support::text_of_rule(rule::slices_are_missing, "fc1/bias", "", 1, slices));
    }
}

TEST_CASE("counts: extents are less than 2^31, tensors and arithmetic can be counted") {
    using net = one_layer<20, 10>;
    for (const int power : {31, 32, 40, 62}) {
        CHECK(contains(described<net>(index_t{1} << power), words(rule::extent_too_large)));
    }
    CHECK(described<net>(INT32_MAX) == "accepted");
    CHECK(contains(described<net>(INT64_MAX), words(rule::extent_too_large)));
    CHECK(described<one_layer<1 << 24, 1 << 24>>(1) == "accepted"); // 2^48 weights
    CHECK(contains(described<one_layer<(1 << 24) + 1, 1 << 24>>(1), words(rule::extent_too_large)));
    CHECK(
        contains(described<one_layer<1 << 20, 1 << 20>>(1 << 20), words(rule::extent_too_large))); // 2^60 multiply-adds
    CHECK(contains(described<one_layer<index_t{1} << 31, 1>>(1), words(rule::extent_too_large)));
    const ts::graph other = ts::with_batch(mlp().view(), index_t{1} << 40); // not described anew
    CHECK(contains(verdict([](ts::strategy&) {}, other), words(rule::extent_too_large)));
    // What is accepted can be planned without overflow.
    const ts::graph most = ts::describe<net>(INT32_MAX);
    ts::strategy s(most.view());
    CHECK(ts::lower(most.view(), s.view(), 1).tasks.size() > 3);
}

namespace {

struct mode_row {
    rule broken;
    const char* layer;
    index_t found;
    index_t needed;
    void (*apply)(ts::strategy&); ///< to data parallelism with one message for every gradient
};

const mode_row mode_rows[] = {
    {rule::averages_of_sums, "fc1", 2, 0, [](ts::strategy& s) { s.sync.average_every = s.steps_per_plan = 2; }},
    {rule::averages_of_sums, "fc1", 1, 0,
     [](ts::strategy& s) {
         s.sync = ts::schedule::parameter_average(1);
         s.sync.shards_parameters = true;
     }},
    {rule::averages_of_sums, "fc1", 1, 0,
     [](ts::strategy& s) {
         s.sync = ts::schedule::parameter_average(1);
         s.parameters_on = 1;
     }},
    {rule::averages_never, "fc1", -1, 1, [](ts::strategy& s) { s.sync.average_every = -1; }},
    {rule::averages_past_the_period, "fc1", 4, 3,
     [](ts::strategy& s) {
         s.sync = ts::schedule::parameter_average(3);
         s.steps_per_plan = 4;
     }},
    {rule::times_without_messages, "fc1", 0, 1,
     [](ts::strategy& s) {
         s.sync.messages.clear();
         s.sync.sum_at = ts::sync_time::after_backward;
     }},
    {rule::times_without_messages, "fc1", 0, 1,
     [](ts::strategy& s) {
         s.sync = ts::schedule::parameter_average(1);
         s.sync.update_at = ts::sync_time::after_backward;
     }},
    {rule::slices_on_one_device, "fc1", 1, -1,
     [](ts::strategy& s) {
         s.sync.shards_parameters = true;
         s.parameters_on = 1;
     }},
    {rule::slices_without_messages, "fc1", 0, 1,
     [](ts::strategy& s) {
         s.sync = {};
         s.sync.shards_parameters = true;
     }},
    {rule::slices_not_sliced, "fc2", 3, 0,
     [](ts::strategy& s) {
         s.sync.shards_parameters = true;
         s.sync.messages[2].method = ts::exchange::server;
     }},
    {rule::slices_in_slices, "fc3", 2, 1,
     [](ts::strategy& s) {
         s.sync.shards_parameters = true;
         s.sync.messages[4].slices = {{4, 0, 2}, {4, 1, 2}};
     }},
};

ts::strategy with_messages(const ts::graph_view& g, int devices) {
    ts::strategy s = ts::search::data_parallel(g, devices);
    for (int p = 0; p < g.parameter_count; ++p) {
        s.sync.messages.push_back({ts::exchange::sliced, 0, {{p, 0, 1}}});
    }
    return s;
}

} // namespace

TEST_CASE("modes of synchronization that contradict each other are refused by rule, with layer and numbers") {
    const ts::graph_view g = mlp().view();
    const ts::strategy good = with_messages(g, 4);
    CHECK_NOTHROW(ts::require(g, good.view(), 4));
    for (const mode_row& r : mode_rows) {
        ts::strategy s = good;
        r.apply(s);
        CAPTURE(r.layer);
        const std::string text = test_support::text_of_rule(r.broken, r.layer, "", r.found, r.needed);
        CHECK(test_support::message_of([&] { ts::require(g, s.view(), 4); }) == text);
        CHECK(test_support::message_of([&] { ts::lower(g, s.view(), 4); }) == text); // for those who did not ask
    }
    ts::strategy usual = good;
    usual.sync = {};
    CHECK_NOTHROW(ts::require(g, usual.view(), 4));
    usual.sync = ts::schedule::parameter_average(2);
    usual.steps_per_plan = 4;
    CHECK_NOTHROW(ts::require(g, usual.view(), 4));
}

TEST_CASE("modes of synchronization that the rules accept are lowered to plans that the verifier accepts") {
    const ts::graph nets[] = {ts::describe<test_networks::mlp::network>(8),
                              ts::describe<test_networks::frozen_net::network>(8)};
    int accepted = 0;
    int refused = 0;
    for (std::uint64_t seed = 0; seed < 1500; ++seed) {
        test_support::random pick{ts::op::mix(seed)};
        const ts::graph_view g = nets[pick(2)].view();
        const int devices = 1 + pick(4);
        test_support::coverage seen;
        ts::strategy s = pick(2) != 0 ? ts::search::data_parallel(g, devices)
                                      : test_support::random_strategy(g, devices, seed, seen);
        s.overlap = pick(2) != 0;
        s.parameters_on = pick(4) != 0 ? -1 : pick(devices);
        s.steps_per_plan = s.parameters_on >= 0 ? 1 : 1 + pick(4);
        const bool mixed = pick(2) != 0;
        const bool has_messages = pick(3) != 0;
        auto how = static_cast<ts::exchange>(pick(4));
        const int slices = 1 + pick(3);
        for (int p = has_messages ? g.parameter_count - 1 : -1; p >= 0; --p) {
            for (int k = 0; k < slices && g.parameters[p].trained; ++k) {
                how = mixed ? static_cast<ts::exchange>(pick(4)) : how;
                if (s.sync.messages.empty() || pick(3) != 0) {
                    s.sync.messages.push_back(ts::message{how, pick(6) - 1, {}});
                }
                s.sync.messages.back().slices.push_back({p, k, slices});
            }
        }
        s.sync.sum_at = static_cast<ts::sync_time>(pick(2));
        s.sync.update_at = static_cast<ts::sync_time>(pick(2));
        s.sync.shards_parameters = pick(3) == 0;
        s.sync.average_every = pick(4) != 0 ? 0 : pick(4);
        if (ts::check_strategy(g, s.view(), devices)) {
            ++refused;
            continue;
        }
        ++accepted;
        CAPTURE(seed);
        CHECK_NOTHROW([&] {
            ts::plan p = ts::lower(g, s.view(), devices);
            ts::finish(g, p); // verifies
        }());
    }
    MESSAGE(accepted << " accepted, " << refused << " refused");
    CHECK(accepted > 400);
    CHECK(refused > 400);
}
