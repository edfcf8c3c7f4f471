// SPDX-License-Identifier: Apache-2.0
// The fastest strategy that fits: against every strategy of small spaces, each planned and simulated, under tight
// limits, and beside data parallelism.
#include "tessera/search/fit/fit.hpp"

#include "support/refusal.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <set>

namespace {

namespace ts = tessera;
namespace schedule = tessera::schedule;
namespace search = tessera::search;
using ts::index_t;
using ts::search::baseline;

struct wide : ts::linear<48> {};
struct narrow : ts::linear<16> {};
struct last : ts::linear<8> {};
struct small : ts::sequential<ts::features<24>, wide, ts::relu, narrow, ts::tanh, last, ts::cross_entropy> {};

struct layer : ts::linear<64> {};
struct tower : ts::sequential<ts::features<64>, ts::repeat<10, layer, ts::relu>, ts::cross_entropy> {};

/// Devices on which the small networks take long enough that it matters how they are cut.
ts::cluster machine_of(int devices, index_t memory = 0) {
    ts::device_graph g;
    g.name = "small";
    g.add_class({"d", {1, 1, 1}, 100, memory, 200, false});
    for (int d = 0; d < devices; ++d) {
        g.add_device(0, "d" + std::to_string(d));
        for (int e = 0; e < d; ++e) {
            g.add_link(e, d, 100, 500);
        }
    }
    return ts::cluster(g);
}

search::fit_options within(index_t memory, search::fit_options o) {
    o.memory = memory;
    return o;
}

struct outcome {
    index_t step = 0;
    index_t most = 0;
};

outcome outcome_of(const ts::graph_view& g, const ts::cluster& on, const ts::strategy& s,
                   const ts::lower_options& how = {}) {
    ts::require(g, s.view(), on.devices());
    ts::plan p = ts::lower(g, s.view(), on.devices(), how);
    ts::plan_memory(p);
    const ts::simulation::timeline t = ts::simulation::simulate(g, p, on);
    return {t.makespan, *std::max_element(t.peak_bytes.begin(), t.peak_bytes.end())};
}

/// Every assignment of operators to `stages` stages that does not fall and leaves none out.
template <class Use>
void all_stages(int ops, int stages, std::vector<int>& stage, const Use& use) {
    if (static_cast<int>(stage.size()) == ops) {
        if (stage.back() == stages - 1) {
            use(stage);
        }
        return;
    }
    const int own = stage.empty() ? 0 : stage.back();
    for (const int next : {own, own + 1}) {
        if (next < stages && (next == 0 || !stage.empty())) {
            stage.push_back(next);
            all_stages(ops, stages, stage, use);
            stage.pop_back();
        }
    }
}

/// All strategies of the space that a search over `o` has, by loops of their own.
std::vector<outcome> all_outcomes(const ts::graph_view& g, const ts::cluster& on, const search::fit_options& o) {
    std::vector<outcome> all;
    const auto add = [&](ts::strategy s, int members) { // devices that may share parameters
        s.steps_per_plan = o.steps_per_plan;
        all.push_back(outcome_of(g, on, s, o.lowering));
        const schedule::worker_speed speed{0.6, 0.1}; // machine_of()'s
        for (std::size_t k = 0; k < o.policies.size() && members > 1; ++k) {
            s.sync = o.policies[k]->make({schedule::gradients_of(g, speed, members), members, speed});
            all.push_back(outcome_of(g, on, s, o.lowering));
        }
    };
    const int devices = on.devices();
    const index_t batch = g.tensors[0].extents[0];
    for (int used = devices; used > 0; used /= 2) {
        for (const int m : o.micro_batches) {
            for (const baseline inside : o.inside) {
                for (const bool again : {false, true}) {
                    ts::strategy s = search::make_baseline(g, used, inside);
                    s.micro_batches = m;
                    for (ts::configuration& c : s.ops) {
                        c.recompute = again;
                        c.uneven = true;
                    }
                    if (m * (inside == baseline::data_parallel ? used : 1) <= batch) {
                        add(s, used);
                    }
                }
            }
            for (int workers = 2; workers <= used; ++workers) {
                for (const schedule::schedule_record* which : schedule::library_schedules) {
                    for (const int parts : {1, 2}) {
                        schedule::settings x{which, workers, m};
                        const bool gems = x.which == &schedule::gems_record;
                        const bool two = gems || x.which == &schedule::chimera_record;
                        if (gems) {
                            x.options.set("parts", parts);
                        }
                        const bool wanted =
                            std::find(o.schedules.begin(), o.schedules.end(), x.which) != o.schedules.end();
                        if (used % workers != 0 || !wanted || (parts > 1 && !gems) || (two && used < devices) ||
                            m > 8 * workers || !schedule::is_possible(x) || x.stages() > g.op_count) {
                            continue;
                        }
                        std::vector<int> none;
                        all_stages(g.op_count, x.stages(), none, [&](const std::vector<int>& stage) {
                            for (const baseline inside : o.inside) {
                                for (int again = 0; again < (x.which == &schedule::gpipe_record ? 3 : 2); ++again) {
                                    const int width = used / workers;
                                    if (m * (inside == baseline::data_parallel ? width : 1) > batch ||
                                        (width == 1 && inside != o.inside[0])) {
                                        continue;
                                    }
                                    search::pipeline_options how;
                                    how.width = width;
                                    how.inside.assign(ts::to_size(x.stages()), inside);
                                    how.again = static_cast<schedule::rematerialize>(again);
                                    add(search::pipeline(g, stage, schedule::make(x), how), two ? 2 * width : width);
                                }
                            }
                        });
                    }
                }
            }
        }
    }
    return all;
}

/// A space of which every strategy can be simulated.
search::fit_options small_space() {
    search::fit_options o;
    o.micro_batches = {1, 2, 4};
    o.tried = {{"parts", {1, 2}}};
    o.inside = {baseline::data_parallel, baseline::model_parallel};
    o.every_cut = 1000;
    o.policies.clear();
    return o;
}

} // namespace

TEST_CASE("what fit() returns is the fastest that fits of all strategies of a small space, and its smallest memory is "
          "theirs") {
    const ts::graph network = ts::describe<small>(16);
    const ts::graph_view g = network.view();
    for (const int devices : {2, 4}) {
        CAPTURE(devices);
        const ts::cluster on = machine_of(devices);
        search::fit_options whole = small_space();
        whole.schedules.erase(whole.schedules.begin() +
                              6); // Chimera's list schedule depends on times: in the next test
        whole.simulations = 1 << 20;
        whole.refinements = 0;
        search::fit_options usual = whole;
        usual.simulations = 48;
        usual.refinements = 32;
        std::vector<outcome> all = all_outcomes(g, on, whole);
        std::sort(all.begin(), all.end(), [](const outcome& a, const outcome& b) { return a.step < b.step; });
        index_t least = INT64_MAX;
        index_t most = 0;
        for (const outcome& x : all) {
            least = std::min(least, x.most);
            most = std::max(most, x.most);
        }
        CHECK(least < most);
        int rounds = 0;
        for (const index_t limit : {index_t{0}, most, (2 * least + most) / 3, (4 * least + most) / 5, least}) {
            CAPTURE(limit);
            index_t fastest = 0;
            for (const outcome& x : all) {
                if (fastest == 0 && (limit == 0 || x.most <= limit)) {
                    fastest = x.step;
                }
            }
            const bool exact = devices == 2 || rounds++ == 2; // the larger space once
            if (exact) {
                const search::fit_result r = search::fit(g, on, within(limit, whole));
                CHECK(r.fits);
                CHECK(r.row.step == fastest);
                CHECK(r.smallest_memory == least);
                CHECK(r.simulated == r.considered);
                CHECK(static_cast<int>(all.size()) >= r.simulated); // some are the same under two names
            }
            const search::fit_result quick = search::fit(g, on, within(limit, usual));
            CHECK(quick.fits);
            CHECK(quick.simulated <= 80);
            CHECK(static_cast<double>(quick.row.step) <= 1.1 * static_cast<double>(fastest));
            MESSAGE(devices << " devices, " << limit << " bytes each: of " << all.size()
                            << " strategies the fastest that fits takes " << fastest << " ns, found among "
                            << quick.simulated << " simulated " << quick.row.step << " ns ("
                            << search::to_text(g, quick.row.how) << ")");
        }
        const search::fit_result r = search::fit(g, on, within(least - 1, usual));
        CHECK(!r.fits);
        CHECK(r.smallest_memory >= least);
    }
}

TEST_CASE("policies are a choice of fit(): the fastest of a small space with all of them, the only ones that fit, also "
          "overlapped") {
    using in = const schedule::policy_setting&;
    const ts::graph network = ts::describe<small>(16);
    const ts::graph_view g = network.view();
    search::fit_options whole = small_space();
    whole.lowering.update = ts::adam{};
    whole.schedules = {&schedule::gpipe_record, &schedule::gems_record};
    whole.micro_batches = {1, 2};
    static constexpr schedule::policy_record small_policies[] = {
        {"blocking", "blocking", "for a small network",
         [](in x) { return schedule::blocking_all_reduce(x.gradients); }},
        {"ring", "ring", "for a small network", [](in x) { return schedule::ring_all_reduce(x.gradients); }},
        {"fused", "fused", "for a small network",
         [](in x) {
             return schedule::tensor_fusion(x.gradients, {2000, 2000});
         }},
        {"buckets", "buckets", "for a small network",
         [](in x) {
             return schedule::buckets(x.gradients, {2400, 500});
         }},
        {"servers", "servers", "for a small network",
         [](in x) {
             return schedule::parameter_server(x.gradients, {x.members, 300});
         }},
        {"P3", "P3", "for a small network",
         [](in x) {
             return schedule::p3(x.gradients, {x.members, 200, x.speed});
         }},
        {"partitions", "partitions", "for a small network",
         [](in x) {
             return schedule::byte_scheduler(x.gradients, {ts::exchange::all_reduce, 1, 400, 800, x.speed});
         }},
        {"slices", "slices", "for a small network",
         [](in x) {
             return schedule::byte_scheduler(x.gradients, {ts::exchange::sliced, 1, 400, 800, x.speed});
         }},
        {"ZeRO 1", "ZeRO 1", "for a small network", [](in x) { return schedule::zero(x.gradients, 1, 400); }},
        {"ZeRO 3", "ZeRO 3", "for a small network", [](in x) { return schedule::zero(x.gradients, 3); }},
    };
    whole.policies.clear();
    for (const schedule::policy_record& r : small_policies) {
        whole.policies.push_back(&r);
    }
    whole.simulations = 1 << 20;
    whole.refinements = 0;
    search::fit_options usual = whole;
    usual.simulations = 32;
    usual.refinements = 16;
    const ts::cluster on = machine_of(2);
    whole.steps_per_plan = 2;
    const std::vector<outcome> pairs = all_outcomes(g, on, whole);
    const search::fit_result pair = search::fit(g, on, whole);
    const auto shorter = [](const outcome& a, const outcome& b) { return a.step < b.step; };
    CHECK(pair.row.step == std::min_element(pairs.begin(), pairs.end(), shorter)->step / 2);
    MESSAGE("two steps without a barrier: " << pair.row.step << " ns each (" << search::to_text(g, pair.row.how)
                                            << ")");
    whole.steps_per_plan = 1;
    std::vector<outcome> all = all_outcomes(g, on, whole);
    std::sort(all.begin(), all.end(), shorter);
    index_t least = INT64_MAX;
    for (const outcome& x : all) {
        least = std::min(least, x.most);
    }
    for (const index_t limit : {index_t{0}, least + least / 4, least}) {
        CAPTURE(limit);
        index_t fastest = 0;
        for (const outcome& x : all) {
            fastest = fastest == 0 && (limit == 0 || x.most <= limit) ? x.step : fastest;
        }
        const search::fit_result r = search::fit(g, on, within(limit, whole));
        CHECK(r.fits);
        CHECK(r.row.step == fastest);
        CHECK(r.smallest_memory == least);
        CHECK(r.simulated == r.considered);
        const search::fit_result quick = search::fit(g, on, within(limit, usual));
        CHECK(quick.fits);
        CHECK(quick.simulated <= 48);
        CHECK(static_cast<double>(quick.row.step) <= 1.1 * static_cast<double>(fastest));
        MESSAGE("of " << all.size() << " strategies with policies the fastest that fits " << limit << " bytes takes "
                      << fastest << " ns (" << search::to_text(g, r.row.how) << "), found among " << quick.simulated
                      << " simulated " << quick.row.step << " ns (" << search::to_text(g, quick.row.how) << ")");
    }

    // Data parallelism of large layers with Adam's state: only what keeps slices of it fits.
    const ts::graph heavy = ts::describe<tower>(8);
    const ts::cluster four = machine_of(4);
    search::fit_options o;
    o.lowering.update = ts::adam{};
    o.schedules.clear();
    o.micro_batches = {1};
    o.inside = {baseline::data_parallel};
    o.again = {schedule::rematerialize::none};
    o.fewer_devices = false;
    o.simulations = 4;
    o.refinements = 0;
    CHECK(o.policies.size() == 12);
    std::vector<std::pair<index_t, std::string>> needs;
    for (const schedule::policy_record* p : o.policies) {
        ts::strategy s = search::data_parallel(heavy.view(), 4);
        s.sync = schedule::make(*p, {schedule::gradients_of(heavy.view()), 4});
        needs.emplace_back(outcome_of(heavy.view(), four, s, o.lowering).most, p->title);
    }
    std::sort(needs.begin(), needs.end());
    CHECK(needs[0].second == "ZeRO 3");
    const search::fit_result lean = search::fit(heavy.view(), four, within(needs[0].first, o));
    CHECK(lean.fits);
    CHECK(lean.row.how.policy == &schedule::zero_3_record);
    CHECK(lean.best.sync.shards_parameters);
    CHECK(test_support::contains(search::to_text(heavy.view(), lean.row.how), "ZeRO 3"));
    CHECK(!search::fit(heavy.view(), four, within(needs[0].first - 1, o)).fits);
    o.policies.pop_back();
    CHECK(!search::fit(heavy.view(), four, within(needs[0].first, o)).fits); // without it nothing does

    // Without a barrier between steps a step takes its share of the plan, and less than with one.
    o.simulations = 64;
    const search::fit_result barrier = search::fit(heavy.view(), four, o);
    o.steps_per_plan = 3;
    const search::fit_result none = search::fit(heavy.view(), four, o);
    CHECK(none.best.steps_per_plan == 3);
    CHECK(none.row.step == outcome_of(heavy.view(), four, none.best, o.lowering).step / 3);
    CHECK(none.row.step < barrier.row.step);
    MESSAGE("a step takes " << barrier.row.step << " ns (" << search::to_text(heavy.view(), barrier.row.how)
                            << "), without a barrier " << none.row.step << " ns ("
                            << search::to_text(heavy.view(), none.row.how) << ")");
    o.steps_per_plan = 1;

    // Where devices copy in turn, lists of communication are tried too.
    ts::device_graph host = four.graph();
    host.classes[0].serial_copies = true;
    const search::fit_result overlapped = search::fit(heavy.view(), ts::cluster(host), o);
    CHECK(overlapped.considered == 2 * (1 + 11));
    CHECK(std::any_of(overlapped.rows.begin(), overlapped.rows.end(),
                      [](const search::fit_row& r) { return r.how.overlap; }));
    CHECK(overlapped.best.overlap == overlapped.row.how.overlap);
}

TEST_CASE("fit() honours the limit as plan_memory() predicts, and is never worse than data parallelism or one device "
          "that fits") {
    const ts::graph network = ts::describe<tower>(64);
    const ts::graph_view g = network.view();
    const ts::cluster on = machine_of(4);
    const outcome data = outcome_of(g, on, search::data_parallel(g, 4));
    const outcome one = outcome_of(g, on, search::single_device(g));
    search::fit_options o;
    o.micro_batches = {1, 2, 4, 8};
    o.simulations = 24;
    o.refinements = 12;
    const index_t least = search::fit(g, on, within(1, o)).smallest_memory;
    CHECK(least < data.most);
    for (const index_t limit : {index_t{0}, one.most, data.most, (2 * least + data.most) / 3, least}) {
        CAPTURE(limit);
        const search::fit_result r = search::fit(g, on, within(limit, o));
        CHECK(r.fits);
        CHECK(r.simulated <= 36);
        CHECK(r.considered > r.simulated);
        CHECK(static_cast<int>(r.rows.size()) == r.simulated);
        CHECK((limit > 0 && data.most > limit ? true : r.row.step <= data.step));
        CHECK((limit > 0 && one.most > limit ? true : r.row.step <= one.step));
        const outcome mine = outcome_of(g, on, r.best);
        CHECK(mine.step == r.row.step);
        CHECK(mine.most == r.row.most_bytes);
        ts::plan p = ts::lower(g, r.best.view(), 4);
        CHECK(test_support::message_of([&] { ts::finish(g, p, limit); }) == "accepted");
        for (std::size_t i = 1; i < r.rows.size(); ++i) { // the table is in order
            const search::fit_row& a = r.rows[i - 1];
            const search::fit_row& b = r.rows[i];
            CHECK((a.fits || !b.fits));
            CHECK((a.fits != b.fits || !a.refused.empty() || !b.refused.empty() ||
                   (a.fits ? a.step <= b.step : a.most_bytes <= b.most_bytes)));
        }
    }
}

TEST_CASE("fit: a choice's text names one width for all stages, or each") {
    const ts::graph g = ts::describe<small>(8);
    search::fit_choice x;
    x.order = {&schedule::one_forward_one_backward_record, 2, 4};
    x.inside = {baseline::data_parallel, baseline::data_parallel};
    x.stage = {0, 0, 0, 1, 1, 1};
    x.widths = {2, 2};
    CHECK(test_support::contains(search::to_text(g.view(), x), ", 2 devices each, "));
    x.widths = {1, 1};
    CHECK(test_support::contains(search::to_text(g.view(), x), ", 1 device each, cut before"));
    x.widths = {2, 3};
    CHECK(test_support::contains(search::to_text(g.view(), x), ", devices 2 3, "));
}

TEST_CASE("fit: what a policy exchanges, and what backward takes of an operator, as the choices are guessed by") {
    const ts::graph network = ts::describe<small>(8);
    const ts::graph_view g = network.view();
    const ts::cluster on = machine_of(2);
    const std::vector<schedule::ready_gradient> gradients = schedule::gradients_of(g, {}, 2);
    std::vector<int> weights(ts::to_size(g.op_count), 0); // parameters whose first user an operator is
    ts::index_t largest = 0;
    for (int op = 0; op < g.op_count; ++op) {
        weights[ts::to_size(op)] = g.ops[op].parameters.size();
        for (const int p : g.ops[op].parameters) {
            largest = std::max(largest, g.parameters[p].extents.volume() * 4);
        }
    }
    const auto usual = search::detail::traits_of(g, gradients, {});
    CHECK(usual.messages == weights);
    CHECK(usual.largest == largest);
    CHECK(search::detail::traits_of(g, gradients, schedule::buckets(gradients, {1, 1})).messages ==
          weights); // one by one
    // A rate of 1 and memory that costs nothing: times are arithmetic.
    ts::device_graph slow;
    slow.add_class({"slow", {1, 1, 1}, 1000000, 0, 0, false});
    slow.add_device(0, "d0");
    const ts::cluster alone(slow);
    search::fit_times times(g, alone, {});
    for (int op = 0; op < g.op_count; ++op) {
        const search::operator_estimate& t = times(1, 1, baseline::data_parallel)[ts::to_size(op)];
        const ts::description d = g.describe(op);
        if (!g.ops[op].parameters.empty()) {
            const double ratio = static_cast<double>(t.input + t.weight) / static_cast<double>(t.forward);
            const double wanted = static_cast<double>(ts::backward_flops(d)) /
                                  static_cast<double>(ts::forward_flops(d, ts::loop_ranges(d).range));
            CHECK(std::abs(ratio / wanted - 1) < 0.05);
        }
    }
}

TEST_CASE("where nothing fits the result says what is lacking, and with what it says would do it fits") {
    const ts::graph network = ts::describe<tower>(64);
    const ts::graph_view g = network.view();
    search::fit_options o;
    o.micro_batches = {1, 2, 4, 8};
    o.simulations = 16;
    o.refinements = 8;
    const search::fit_result r = search::fit(g, machine_of(4, 5000), o); // as the machine says
    CHECK(!r.fits);
    CHECK(r.smallest_memory > 5000);
    CHECK(r.row.most_bytes == r.smallest_memory);
    CHECK(test_support::contains(r.reason,
                                 "which has 5000; with " + std::to_string(r.smallest_memory) + " bytes on each"));
    CHECK(test_support::contains(r.reason, search::to_text(g, r.row.how)));
    const search::fit_result enough = search::fit(g, machine_of(4, r.smallest_memory), o);
    CHECK(enough.fits);
    CHECK(enough.row.most_bytes <= r.smallest_memory);
    CHECK(search::fit(g, machine_of(4, 5000), within(1000000, o)).fits == false); // the smaller of the two counts
    for (const int tight : {0, 1, 3}) {                                           // the device is named that lacks most
        ts::device_graph graph;
        graph.add_class({"d", {1, 1, 1}, 100, 5000, 200, false});
        graph.add_class({"tight", {1, 1, 1}, 100, 600, 200, false});
        for (int d = 0; d < 4; ++d) {
            graph.add_device(d == tight ? 1 : 0, "d" + std::to_string(d));
            for (int e = 0; e < d; ++e) {
                graph.add_link(e, d, 100, 500);
            }
        }
        const search::fit_result f = search::fit(g, ts::cluster(graph), o);
        std::size_t most = 0;
        for (std::size_t d = 0; d < 4; ++d) {
            const auto lacks = [&](std::size_t k) {
                return f.row.peak_bytes[k] - (static_cast<int>(k) == tight ? 600 : 5000);
            };
            most = lacks(d) > lacks(most) ? d : most;
        }
        CHECK(test_support::contains(f.reason, "bytes on device " + std::to_string(most) + ", which has " +
                                                   std::to_string(static_cast<int>(most) == tight ? 600 : 5000)));
    }
    search::fit_options empty;
    static constexpr schedule::policy_record mine{.name = "mine"};
    empty.policies.push_back(&mine);
    CHECK(test_support::contains(test_support::message_of([&] { (void)search::fit(g, machine_of(2), empty); }),
                                 "is called 'mine' and has no function"));
    o.micro_batches.clear();
    CHECK(test_support::contains(test_support::message_of([&] { (void)search::fit(g, machine_of(2), o); }),
                                 "nothing to fit"));
}

TEST_CASE("fit: every way to cut operators into stages, each once, or none if there are more than allowed") {
    for (int n = 1; n <= 8; ++n) {
        for (int stages = 1; stages <= n; ++stages) {
            int ways = 0; // choices of the operators at which stages begin
            for (unsigned cuts = 0; cuts < 1U << (n - 1); ++cuts) {
                ways += std::popcount(cuts) == stages - 1 ? 1 : 0;
            }
            std::set<std::vector<int>> seen;
            CHECK(search::detail::every_cut(n, stages, ways, [&](const std::vector<int>& c) {
                CHECK((static_cast<int>(c.size()) == n && c.front() == 0 && c.back() == stages - 1));
                for (std::size_t i = 1; i < c.size(); ++i) {
                    CHECK((c[i] == c[i - 1] || c[i] == c[i - 1] + 1));
                }
                CHECK(seen.insert(c).second);
            }));
            CHECK(static_cast<int>(seen.size()) == ways);
            CHECK(!search::detail::every_cut(n, stages, ways - 1, [](const std::vector<int>&) { CHECK(false); }));
        }
    }
}

TEST_CASE("fit: ended early it returns the best of what it has simulated, at least one") {
    const ts::graph g = ts::describe<tower>(32);
    const ts::cluster on = machine_of(4);
    for (const int most : {0, 1, 5, 1000}) {
        int limit = most;
        search::fit_options o;
        o.simulations = 12;
        o.refinements = 4;
        o.context = &limit;
        o.go_on = [](void* context, int simulated, int) { return simulated < *static_cast<int*>(context); };
        const search::fit_result r = search::fit(g.view(), on, o);
        CHECK(r.fits);
        CHECK(r.ended == (most < 1000));
        CHECK(r.simulated == (most < 1000 ? std::max(most, 1) : r.simulated));
        CHECK(r.simulated <= 16);
        CHECK(outcome_of(g.view(), on, r.best).step == r.row.step);
    }
    // Large networks have strategies whose list alone takes long.
    const search::fit_result whole = search::fit(g.view(), on);
    int calls = 0;
    search::fit_options o;
    o.context = &calls;
    o.go_on = [](void* context, int, int) { return ++*static_cast<int*>(context) < 20; };
    const search::fit_result r = search::fit(g.view(), on, o);
    CHECK(r.ended);
    CHECK(r.fits);
    CHECK(calls == 20);
    CHECK(r.considered < whole.considered / 2);
}

TEST_CASE("fit: a network whose loss is of the whole batch together has one micro-batch") {
    struct ignoring : ts::sequential<ts::features<24>, wide, ts::relu, narrow, ts::masked_cross_entropy<>> {};
    const ts::graph g = ts::describe<ignoring>(32);
    const ts::cluster on = machine_of(4);
    const search::fit_result r = search::fit(g.view(), on);
    CHECK(r.fits);
    CHECK(r.refused == 0);
    CHECK(r.best.micro_batches == 1);
    CHECK(outcome_of(g.view(), on, r.best).step == r.row.step);
    search::fit_options o;
    o.micro_batches = {2, 4};
    CHECK(test_support::contains(test_support::message_of([&] { (void)search::fit(g.view(), on, o); }),
                                 ts::to_text(ts::rule::loss_joins_micro_batches)));
}
