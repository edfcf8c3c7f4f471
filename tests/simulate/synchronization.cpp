// SPDX-License-Identifier: Apache-2.0
// Synchronization policies against closed forms and hand-made lists: what each rank sends and keeps, who travels with
// whom, and in which order; and plans whose synchronization has been tampered with.
#include "support/networks.hpp"
#include "support/planned.hpp"
#include "support/policies.hpp"
#include "support/random_pipeline.hpp"
#include "support/refusal.hpp"
#include "support/star.hpp"

#include "tessera/machine/presets.hpp"
#include "tessera/plan/access.hpp"
#include "tessera/plan/print.hpp"
#include "tessera/schedule/parameter_average.hpp"
#include "tessera/simulate/simulate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace {

namespace ts = tessera;
namespace sim = tessera::simulation;
using test_support::data_parallel;
using test_support::small_policies;
using ts::index_t;

struct l1 : ts::linear<24> {};
struct l2 : ts::linear<36> {};
struct l3 : ts::linear<12> {};
struct three_layers : ts::sequential<ts::features<12>, l1, ts::relu, l2, ts::relu, l3, ts::cross_entropy> {};
constexpr index_t psi = 12 * 24 + 24 + 24 * 36 + 36 + 36 * 12 + 12;

ts::plan planned(const ts::graph_view& g, const ts::strategy& s, int devices,
                 const ts::optimizer& update = ts::adam{}) {
    ts::lower_options o;
    o.update = update;
    return test_support::planned(g, s, devices, o);
}

/// Bytes that every device sends to others.
std::vector<index_t> sent(const ts::plan& p) {
    std::vector<index_t> bytes(ts::to_size(p.devices), 0);
    index_t total = 0;
    for (const ts::task& t : p.tasks) {
        for (const int r : t.reads) {
            const index_t n = ts::detail::bytes_across(p, t, r, false);
            total += n;
            if (n > 0) {
                bytes[ts::to_size(p.tiles[ts::to_size(r)].device)] += n;
            }
        }
        for (const int w : t.writes) {
            const index_t n = ts::detail::bytes_across(p, t, w, true);
            total += n;
            bytes[ts::to_size(t.device)] += n;
        }
    }
    CHECK(total == p.moved_bytes);
    return bytes;
}

ts::cluster switched(int devices, index_t megabytes_per_second) {
    return test_support::star(devices, 1000, 100000, megabytes_per_second);
}

ts::schedule::ready_gradient gradient(int parameter, index_t elements, index_t ready = 0, int layer = 0) {
    return {parameter, elements, layer, ready};
}

std::vector<std::vector<int>> parameters_of(const ts::synchronization& s) {
    std::vector<std::vector<int>> all;
    for (const ts::message& m : s.messages) {
        all.emplace_back();
        for (const ts::gradient_slice& x : m.slices) {
            all.back().push_back(x.parameter);
        }
    }
    return all;
}

/// Every task starts when what it reads has been written, and no one writes before others have read. What goes by a
/// collective, or to a server, may begin before that, for other devices' share, but not end.
void check_order(const ts::plan& p, const sim::timeline& t) {
    struct use {
        std::size_t task;
        ts::access what;
    };
    std::map<int, std::vector<use>> uses; // by tile
    std::vector<ts::access> mine;
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        const ts::task& x = p.tasks[i];
        const bool grouped = x.kind() == ts::task_kind::update || x.kind() == ts::task_kind::reduce ||
                             x.kind() == ts::task_kind::gather || x.kind() == ts::task_kind::average;
        ts::accesses_of(p, x, mine);
        for (const ts::access& a : mine) {
            for (const use& before : uses[p.root(a.tile)]) {
                if (before.task != i && ts::conflict(a, before.what)) {
                    const sim::task_span& span = t.tasks[i];
                    const bool together = grouped && (a.write || x.params().method == ts::exchange::server);
                    REQUIRE(t.tasks[before.task].end <= (together ? span.end : span.start));
                }
            }
        }
        for (const ts::access& a : mine) {
            uses[p.root(a.tile)].push_back({i, a});
        }
    }
}

} // namespace

TEST_CASE("every policy's ranks send 2(n-1)/n bytes for each byte of gradients, ZeRO 3's what they gather besides") {
    const ts::graph g = ts::describe<three_layers>(12);
    for (const int n : {2, 3, 4}) {
        const std::vector<ts::schedule::ready_gradient> all = ts::schedule::gradients_of(g.view());
        for (const auto& policy : small_policies(g.view(), n)) {
            const std::string& name = policy.first;
            const ts::synchronization& sync = policy.second;
            CAPTURE(name);
            CAPTURE(n);
            const ts::plan p = planned(g.view(), data_parallel(g.view(), n, sync), n);
            const std::vector<index_t> bytes = sent(p);
            index_t total = 0;
            for (const index_t b : bytes) {
                total += b;
            }
            // Backward reads the weights of all layers but the first.
            const index_t again = 24 * 36 + 36 * 12;
            CHECK(total == (n - 1) * 4 * (name == "ZeRO 3" ? 2 * psi + again : 2 * psi));
            const bool one_server = name == "parameter server" || name == "P3" || name.find("ByteScheduler") == 0;
            for (const index_t b : bytes) {
                CHECK((one_server || b == total / n));
            }
        }
        // Of slices that share out evenly, every server takes and gives as much.
        const ts::plan p =
            planned(g.view(), data_parallel(g.view(), n, ts::schedule::parameter_server(all, {n, 1})), n);
        for (const index_t b : sent(p)) {
            CHECK(b == 2 * (n - 1) * 4 * psi / n);
        }
    }
}

TEST_CASE("a parameter that is used many times crosses between devices once") {
    const ts::graph g = ts::describe<test_networks::recurrent::network>(4);
    index_t elements = 0;
    for (const ts::parameter_node& p : g.parameters) {
        elements += p.extents.volume();
    }
    for (const int n : {2, 4}) {
        CAPTURE(n);
        const ts::plan usual = planned(g.view(), data_parallel(g.view(), n, {}), n);
        CHECK(usual.moved_bytes == 2 * (n - 1) * 4 * elements);
        const ts::synchronization sync = ts::schedule::p3(ts::schedule::gradients_of(g.view()), {n, 20});
        CHECK(planned(g.view(), data_parallel(g.view(), n, sync), n).moved_bytes == usual.moved_bytes);
    }
    const ts::plan alone = planned(g.view(), ts::strategy(g.view()), 1);
    CHECK(alone.moved_bytes == 0);
    for (const ts::task& t : alone.tasks) {
        CHECK(t.kind() != ts::task_kind::sum);
    }
}

TEST_CASE("ZeRO: what each worker keeps of Psi parameters, Adam's state 8 Psi bytes, and of summed gradients") {
    const ts::graph g = ts::describe<three_layers>(12);
    const std::vector<ts::schedule::ready_gradient> all = ts::schedule::gradients_of(g.view());
    const auto held = [](const ts::plan& p, int device) { // bytes of gradients when the last backward task ends
        int last = 0;
        for (int i = 0; i < static_cast<int>(p.tasks.size()); ++i) {
            last = p.tasks[ts::to_size(i)].kind() == ts::task_kind::compute ? i : last;
        }
        const auto live = ts::detail::lifetimes(p);
        index_t bytes = 0;
        for (std::size_t t = 0; t < p.tiles.size(); ++t) {
            const bool alive = live[t].first >= 0 && live[t].first <= last && live[t].last > last;
            const bool mine = p.tiles[t].kind == ts::tile_kind::parameter_gradient && p.tiles[t].device == device;
            bytes += alive && mine ? p.tiles[t].bytes : 0;
        }
        return bytes;
    };
    for (const int n : {2, 3, 4}) {
        CAPTURE(n);
        const auto persistent = [&](const ts::synchronization& sync, index_t wanted) {
            const ts::plan p = planned(g.view(), data_parallel(g.view(), n, sync), n);
            for (int d = 0; d < n; ++d) {
                index_t bytes = 0;
                for (const ts::tile& t : p.tiles) {
                    bytes += ts::is_persistent(t.kind) && t.device == d ? t.bytes : 0;
                }
                CHECK(bytes == wanted);
            }
            return p;
        };
        persistent(ts::schedule::buckets(all), 4 * psi + 8 * psi);
        const ts::plan one = persistent(ts::schedule::zero(all, 1), 4 * psi + 8 * psi / n);
        const ts::plan two = persistent(ts::schedule::zero(all, 2), 4 * psi + 8 * psi / n);
        const ts::plan three = persistent(ts::schedule::zero(all, 3), (4 + 8) * psi / n);
        CHECK(held(one, 0) == 4 * psi);
        // The first layer's gradients, made last, are still whole.
        const index_t last = 12 * 24 + 24;
        CHECK(held(two, 0) == 4 * ((psi - last) / n + last));
        CHECK(held(three, 0) == held(two, 0));
        CHECK(two.arena_bytes[0] < one.arena_bytes[0]);
    }
}

TEST_CASE("ZeRO's first stage sums buckets, each at least as large as it says and begun anew behind that") {
    const std::vector<ts::schedule::ready_gradient> all{gradient(0, 40), gradient(1, 60), gradient(2, 100),
                                                        gradient(3, 99), gradient(4, 1),  gradient(5, 7)};
    using lists = std::vector<std::vector<int>>;
    CHECK(parameters_of(ts::schedule::zero(all, 1, 100)) == lists{{0, 1}, {2}, {3, 4}, {5}});
    CHECK(parameters_of(ts::schedule::zero(all, 1, 1)) == lists{{0}, {1}, {2}, {3}, {4}, {5}});
    CHECK(parameters_of(ts::schedule::zero(all, 1)).size() == 1);
    CHECK(parameters_of(ts::schedule::zero(all, 2, 100)).size() == 6); // each is summed as soon as it is there
}

TEST_CASE("tensor fusion: threshold, cycle, look-ahead, and what is larger by itself") {
    using ts::schedule::fusion;
    using ts::schedule::tensor_fusion;
    const auto fused = [](const std::vector<ts::schedule::ready_gradient>& list, const fusion& how) {
        return parameters_of(tensor_fusion(list, how));
    };
    using lists = std::vector<std::vector<int>>;
    // 400, 400 and 200 bytes fit in 1000; the next begins anew.
    CHECK(fused({gradient(0, 100), gradient(1, 100), gradient(2, 50), gradient(3, 1)}, {1000, 1000}) ==
          lists{{0, 1, 2}, {3}});
    CHECK(fused({gradient(0, 100), gradient(1, 500), gradient(2, 100)}, {1000, 1000}) == lists{{0}, {1}, {2}});
    // Cycles end at 1000, 2000, ... ns.
    CHECK(fused({gradient(0, 1, 10), gradient(1, 1, 1000), gradient(2, 1, 1001), gradient(3, 1, 1999)}, {1000, 1000}) ==
          lists{{0, 1}, {2, 3}});
    const std::vector<ts::schedule::ready_gradient> close{gradient(0, 1, 10), gradient(1, 1, 10), gradient(2, 1, 11)};
    CHECK(fused(close, {1000, 0}) == lists{{0, 1}, {2}}); // no cycle: what is ready at once
    CHECK(fused(close, {1000, 1}) == lists{{0, 1}, {2}});
    // Another type is skipped, and looked past while all together keep to the threshold.
    std::vector<ts::schedule::ready_gradient> mixed{gradient(0, 50), gradient(1, 50), gradient(2, 50),
                                                    gradient(3, 200)};
    mixed[1].type = ts::element::bf16;
    CHECK(fused(mixed, {600, 1000}) == lists{{0, 2}, {1}, {3}});
    mixed[1].elements = 250;
    CHECK(fused(mixed, {600, 1000}) == lists{{0}, {1}, {2}, {3}});
}

TEST_CASE("buckets of ResNet-50's gradients: PyTorch's sizes give five") {
    std::vector<index_t> sizes; // in order of forward
    const auto conv = [&](index_t in, index_t out, index_t window) {
        sizes.push_back(in * out * window * window);
        sizes.push_back(out);
        sizes.push_back(out);
    };
    conv(3, 64, 7);
    index_t in = 64;
    for (const auto& [width, count] : std::vector<std::pair<int, int>>{{64, 3}, {128, 4}, {256, 6}, {512, 3}}) {
        for (int b = 0; b < count; ++b) {
            conv(in, width, 1);
            conv(width, width, 3);
            conv(width, 4 * width, 1);
            if (b == 0) {
                conv(in, 4 * width, 1);
            }
            in = 4 * width;
        }
    }
    sizes.push_back(2048 * 1000);
    sizes.push_back(1000);
    REQUIRE(sizes.size() == 161);
    std::vector<ts::schedule::ready_gradient> all;
    for (std::size_t i = sizes.size(); i-- > 0;) {
        all.push_back(gradient(static_cast<int>(i), sizes[i]));
    }
    std::vector<std::pair<std::size_t, index_t>> found;
    for (const ts::message& m : ts::schedule::buckets(all).messages) {
        index_t bytes = 0;
        for (const ts::gradient_slice& x : m.slices) {
            CHECK(x.slices == 1);
            bytes += 4 * sizes[ts::to_size(x.parameter)];
        }
        found.emplace_back(m.slices.size(), bytes);
    }
    // Worked out by hand from the sizes: 1 MiB closes the first, 25 MiB the others.
    CHECK(found == std::vector<std::pair<std::size_t, index_t>>{
                       {2, 8196000}, {15, 31502336}, {12, 26255360}, {51, 26550272}, {81, 9724160}});
}

TEST_CASE("P3: slices of at most 50,000, round robin, first layers first, at slices' ends; credit looks ahead less") {
    // Layer 2's gradient is there at 0 and takes 12 slices of 40 us; layer 0's comes at 100 us.
    const std::vector<ts::schedule::ready_gradient> list{gradient(2, 120'000, 0, 2), gradient(0, 60'000, 100'000, 0)};
    const ts::synchronization s = ts::schedule::p3(list, {2, 10'000, {1000, 1}});
    REQUIRE(s.messages.size() == 18);
    for (std::size_t i = 0; i < 18; ++i) {
        CHECK(s.messages[i].slices[0].parameter == (i < 3 || i >= 9 ? 2 : 0));
        CHECK(s.messages[i].method == ts::exchange::server);
        CHECK(s.messages[i].server == s.messages[i].slices[0].slice % 2);
    }
    CHECK(ts::schedule::p3({gradient(0, 102'760'448)}, {4}).messages.size() == 2056);
    // With credit for three partitions two more of layer 2 are on their way when layer 0 comes; with credit for one it
    // is P3.
    const auto credit = [&](index_t c) {
        return ts::schedule::byte_scheduler(list, {ts::exchange::server, 2, 10'000, c, {1000, 1}}).messages;
    };
    CHECK(credit(10'000) == s.messages);
    CHECK(credit(30'000)[4].slices[0].parameter == 2);
    CHECK(credit(30'000)[5].slices[0].parameter == 0);
    using test_support::message_of;
    for (const int servers : {0, -1}) {
        const std::string text = test_support::text_of_rule(ts::rule::no_servers, servers, 1);
        CHECK(message_of([&] { (void)ts::schedule::parameter_server(list, {servers}); }) == text);
        CHECK(message_of([&] { (void)ts::schedule::p3(list, {servers}); }) == text);
        CHECK(message_of([&] { (void)ts::schedule::byte_scheduler(list, {ts::exchange::server, servers}); }) == text);
    }
    for (const index_t slice : {index_t{0}, index_t{-7}}) {
        const std::string text = test_support::text_of_rule(ts::rule::slice_is_empty, slice, 1);
        CHECK(message_of([&] { (void)ts::schedule::p3(list, {2, slice}); }) == text);
        CHECK(message_of([&] {
                  (void)ts::schedule::byte_scheduler(list, {ts::exchange::all_reduce, 1, slice});
              }) == text);
    }
    CHECK(ts::schedule::p3({gradient(0, 3)}, {1, 1}).messages.size() == 3);
    CHECK(message_of([&] { (void)ts::schedule::zero(list, 4); }) ==
          test_support::text_of_rule(ts::rule::zero_has_three_stages, 4, 3));
    CHECK(message_of([&] { (void)ts::schedule::zero(list, 0); }) ==
          test_support::text_of_rule(ts::rule::zero_has_three_stages, 0, 1));
}

TEST_CASE("simulated: a bucket is one collective, a server's incast takes its bytes in and out, P3 hides what blocking "
          "shows") {
    const ts::graph g = ts::describe<three_layers>(12);
    const std::vector<ts::schedule::ready_gradient> all = ts::schedule::gradients_of(g.view());
    const int n = 4;
    const ts::cluster on = switched(n, 1); // 1 byte in 1 us: computation is nothing beside it
    const auto makespan = [&](const ts::synchronization& sync, int steps_per_plan = 1) {
        ts::strategy s = data_parallel(g.view(), n, sync);
        s.steps_per_plan = steps_per_plan;
        return sim::simulate(g.view(), planned(g.view(), s, n, ts::sgd{}), on).makespan;
    };
    const auto near = [](index_t found, double wanted) {
        CAPTURE(found);
        CAPTURE(wanted);
        CHECK(static_cast<double>(found) > wanted * 0.98);
        CHECK(static_cast<double>(found) < wanted * 1.02);
    };
    const double ns = 1000; // for each byte
    near(makespan(ts::schedule::buckets(all)), 2.0 * (n - 1) / n * 4 * psi * ns);
    const index_t ring = makespan(ts::schedule::ring_all_reduce(all));
    CHECK(static_cast<double>(ring) >= 2.0 * (n - 1) / n * 4 * psi * ns);
    CHECK(static_cast<double>(ring) < 2.0 * (n - 1) / n * 4 * psi * ns * 1.5); // neighbours wait for each other
    near(makespan(ts::schedule::blocking_all_reduce(all)), 2.0 * (n - 1) / n * 4 * psi * ns);
    // One server for all, one message: what the three others push comes in through its card, and then the parameters go
    // out to them.
    ts::synchronization one;
    one.messages = {{ts::exchange::server, 0, {}}};
    for (const ts::schedule::ready_gradient& x : all) {
        one.messages[0].slices.push_back({x.parameter, 0, 1});
    }
    near(makespan(one), 2.0 * 3 * 4 * psi * ns);
    // Steps without a barrier overlap: two steps take less than twice as long as one, with P3's slices more than
    // without.
    for (const auto& policy : small_policies(g.view(), n)) {
        const std::string& name = policy.first;
        const ts::synchronization& sync = policy.second;
        CAPTURE(name);
        CHECK(makespan(sync, 2) > makespan(sync));
        CHECK(makespan(sync, 2) <= makespan(sync) / 50 * 101);
    }
}

TEST_CASE("tampered plans of every policy are refused") {
    const ts::graph g = ts::describe<three_layers>(12);
    const int n = 3;
    int caught = 0;
    auto policies = small_policies(g.view(), n);
    policies.emplace_back("average", ts::schedule::parameter_average(2));
    for (const auto& policy : policies) {
        const std::string& name = policy.first;
        const ts::synchronization& sync = policy.second;
        ts::strategy s = data_parallel(g.view(), n, sync);
        s.steps_per_plan = 2;
        const ts::plan good = planned(g.view(), s, n, ts::sgd{});
        for (int i = 0; i < static_cast<int>(good.tasks.size()); ++i) {
            const ts::task& t = good.tasks[ts::to_size(i)];
            const bool syncs = t.params().parameter >= 0;
            if (!syncs) {
                continue;
            }
            for (int how = 0; how < 4; ++how) {
                ts::plan p = good;
                ts::task& x = p.tasks[ts::to_size(i)];
                if (how == 0) { // reads something twice
                    x.reads.push_back(x.reads[0]);
                } else if (how == 1 && x.reads.size() > 1) { // forgets something
                    x.reads.pop_back();
                } else if (how == 2 && x.params().slices > 1 && x.kind() != ts::task_kind::average) { // another's slice
                    x.mutable_params().slice = (x.params().slice + 1) % x.params().slices;
                } else if (how == 3 && x.writes.size() > 1) { // leaves a copy out
                    x.writes.pop_back();
                } else {
                    continue;
                }
                const std::string text = ts::verify(g.view(), p).text;
                CAPTURE(name);
                CAPTURE(how);
                CAPTURE(std::string(to_text(t.kind())));
                CHECK(text != "");
                ++caught;
            }
        }
    }
    CHECK(caught > 500);
    MESSAGE(caught << " tampered plans caught");
}

TEST_CASE(
    "random pipelines with random policies, periods and streams are sound, and simulated in the order of their data") {
    namespace n = test_networks;
    const std::vector<ts::graph> networks{ts::describe<n::mlp::network>(6), ts::describe<n::unet::network>(4),
                                          ts::describe<n::recurrent::network>(4)};
    const char* said = std::getenv("TESSERA_STRATEGIES");
    const int count = said != nullptr ? std::max(1, std::atoi(said)) : 24;
    test_support::coverage seen;
    index_t tasks = 0;
    for (int i = 0; i < count; ++i) {
        const ts::graph_view g = networks[ts::to_size(i) % networks.size()].view();
        const int devices = 1 + i % 5;
        test_support::pipeline_case c =
            test_support::random_pipeline(g, devices, 500 + static_cast<std::uint64_t>(i), seen);
        const auto policies = small_policies(g, devices);
        c.how.sync = policies[ts::to_size(i / 2) % policies.size()].second;
        c.how.steps_per_plan = 1 + i % 3;
        c.how.overlap = i % 2 == 0;
        CAPTURE(i);
        CAPTURE(policies[ts::to_size(i / 2) % policies.size()].first);
        CAPTURE(c.schedule);
        const ts::optimizer how(ts::sgd{.momentum = 0.9F}, i % 4 == 3 ? 1.0F : 0.0F);
        ts::plan p;
        CHECK_NOTHROW(p = planned(g, c.how, devices, how)); // finish() verifies
        tasks += static_cast<index_t>(p.tasks.size());
        for (const ts::cluster& on : {switched(devices, 1000), ts::cluster(ts::machines::this_host(devices))}) {
            check_order(p, sim::simulate(g, p, on));
        }
    }
    MESSAGE(count << " plans of " << tasks << " tasks");
}

TEST_CASE("what cannot hold is refused by name") {
    const ts::graph g = ts::describe<three_layers>(12);
    const std::vector<ts::schedule::ready_gradient> all = ts::schedule::gradients_of(g.view());
    const auto refusal = [&](const ts::strategy& s, const ts::optimizer& update) {
        try {
            planned(g.view(), s, 2, update);
        } catch (const ts::error& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    const auto says = [](const std::string& text, const char* words) {
        CAPTURE(text);
        CHECK(text.find(words) != std::string::npos);
    };
    ts::strategy s = data_parallel(g.view(), 2, ts::schedule::parameter_average(1));
    CHECK(refusal(s, ts::sgd{}) == "");
    says(refusal(s, ts::adam{}), "plain SGD");
    says(refusal(s, ts::optimizer(ts::sgd{}, 0.5F)), "plain SGD");
    // A sum that is clipped is not the sum of what is clipped.
    says(refusal(s, ts::optimizer(ts::sgd{}).clipped_to(0.5F)), "plain SGD");
    s.sync.average_every = -1;
    says(refusal(s, ts::sgd{}), ts::to_text(ts::rule::averages_never));
    using test_support::message_of;
    CHECK(message_of([] { (void)ts::schedule::parameter_average(0); }) ==
          test_support::text_of_rule(ts::rule::averages_never, 0, 1));
    CHECK(message_of([&] { (void)ts::schedule::gradients_of(g.view(), {}, 0); }) ==
          test_support::text_of_rule(ts::rule::no_workers, 0, 1));
    CHECK(message_of([&] {
              (void)ts::schedule::gradients_of(g.view(), {0, 1});
          }) == test_support::text_of_rule(ts::rule::worker_does_not_compute, 0, 1));
    s.sync = ts::schedule::parameter_average(3);
    says(refusal(s, ts::sgd{}), ts::to_text(ts::rule::averages_past_the_period));
    s = data_parallel(g.view(), 2, ts::schedule::zero(all, 3));
    s.parameters_on = 0;
    says(refusal(s, ts::sgd{}), ts::to_text(ts::rule::slices_on_one_device));
    s = data_parallel(g.view(), 2, ts::schedule::buckets(all));
    s.sync.shards_parameters = true;
    says(refusal(s, ts::sgd{}), ts::to_text(ts::rule::slices_not_sliced));
    s.sync = ts::schedule::buckets(all);
    s.sync.messages.back().slices.pop_back();
    const auto of = [](ts::rule broken, const char* parameter, index_t found, index_t needed) {
        return test_support::text_of_rule(broken, parameter, "", found, needed);
    };
    CHECK(refusal(s, ts::sgd{}) == of(ts::rule::gradient_not_sent, "l1/weight", 0, 1));
    s.sync = ts::schedule::buckets(all);
    s.sync.messages[0].slices.push_back(s.sync.messages[0].slices[0]);
    CHECK(refusal(s, ts::sgd{}) == of(ts::rule::slice_sent_twice, "l3/bias", 0, 1));
    s.sync.messages[0].slices.back().slices = 2;
    CHECK(refusal(s, ts::sgd{}) == of(ts::rule::slices_differ, "l3/bias", 2, 1));
    s.sync.messages[0].slices.back().slice = 2;
    CHECK(refusal(s, ts::sgd{}) == of(ts::rule::slice_outside_gradient, "l3/bias", 2, 2));
    s.sync.messages[0].slices.back().parameter = 77;
    CHECK(refusal(s, ts::sgd{}) == of(ts::rule::message_of_no_gradient, "(the network itself)", 77, 6));
}
