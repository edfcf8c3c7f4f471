// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/placement/pipedream.hpp"
#include "random_costs.hpp"
#include "support/refusal.hpp"

#include <doctest/doctest.h>

using namespace placement_test;

namespace {

/// The slowest stage of a pipeline, written down once more; infinity where it is none.
double slowest(const sp::cost_graph& g, const sp::pipedream_options& o, const sp::assignment& stage,
               const std::vector<int>& replicas) {
    const double b = o.bytes_per_second;
    double worst = 0;
    for (int s = 0; s < static_cast<int>(replicas.size()); ++s) {
        double c = 0;
        double w = 0;
        double sent = 0;
        bool any = false;
        for (int v = 0; v < g.count(); ++v) {
            const sp::cost_node& n = g.nodes[tessera::to_size(v)];
            const int own = stage[tessera::to_size(v)];
            any = any || own == s;
            c += own == s ? static_cast<double>(n.times[0].forward + n.times[0].backward) * 1e-9 : 0;
            w += own == s ? static_cast<double>(n.parameter_bytes) : 0;
            bool leaves = false;
            for (const sp::cost_edge& e : g.edges) {
                if (stage[tessera::to_size(e.from)] > stage[tessera::to_size(e.to)]) {
                    return std::numeric_limits<double>::infinity();
                }
                leaves = leaves || (e.from == v && own < s && stage[tessera::to_size(e.to)] >= s);
            }
            sent += leaves ? static_cast<double>(n.output_bytes) : 0;
        }
        if (!any) {
            return std::numeric_limits<double>::infinity();
        }
        const double m = replicas[tessera::to_size(s)];
        worst = std::max(worst, o.formula == sp::pipedream_formula::paper
                                    ? std::max(std::max(c, 2 * (m - 1) * w / b) / m, 2 * sent / b)
                                    : (c + 4 * (m - 1) * w / (b * m)) / m);
    }
    return worst;
}

double try_all_plans(const sp::cost_graph& g, const sp::pipedream_options& o) {
    double best = std::numeric_limits<double>::infinity();
    for (int stages = 1; stages <= o.machines; ++stages) {
        std::vector<std::vector<int>> shares;
        std::vector<int> r(tessera::to_size(stages), 1);
        for (bool more = true; more;) {
            int sum = 0;
            for (const int x : r) {
                sum += x;
            }
            if (sum <= o.machines && (o.replicate || sum == stages)) {
                shares.push_back(r);
            }
            std::size_t i = 0;
            while (i < r.size() && ++r[i] > o.machines) {
                r[i++] = 1;
            }
            more = i < r.size();
        }
        sp::assignment s(g.nodes.size(), 0);
        for (bool more = true; more;) {
            for (const std::vector<int>& share : shares) {
                best = std::min(best, slowest(g, o, s, share));
            }
            std::size_t v = 0;
            while (v < s.size() && ++s[v] == stages) {
                s[v++] = 0;
            }
            more = v < s.size();
        }
    }
    return best;
}

} // namespace

TEST_CASE("the planner finds the best of all pipelines with replicas") {
    std::mt19937 random(53);
    int replicated = 0;
    int staged = 0;
    for (int round = 0; round < 200; ++round) {
        sp::cost_graph g = small_graph(random, 1 + below(random, 5), 1);
        for (sp::cost_node& n : g.nodes) {
            n.parameter_bytes = below(random, 3) == 0 ? 0 : below(random, 20);
        }
        sp::pipedream_options o;
        o.machines = 1 + below(random, 3);
        o.bytes_per_second = 1e9 * (1 + below(random, 4));
        o.formula = below(random, 2) == 0 ? sp::pipedream_formula::paper : sp::pipedream_formula::code;
        o.replicate = below(random, 3) != 0;
        const sp::pipedream_plan plan = sp::plan_pipedream(g, o);
        CAPTURE(round);
        CHECK(plan.all_cuts);
        CHECK(plan.seconds == doctest::Approx(try_all_plans(g, o)).epsilon(1e-9));
        CHECK(slowest(g, o, plan.stage, plan.replicas) == doctest::Approx(plan.seconds).epsilon(1e-9));
        replicated += *std::max_element(plan.replicas.begin(), plan.replicas.end()) > 1 ? 1 : 0;
        staged += plan.replicas.size() > 1 ? 1 : 0;
    }
    CHECK(replicated > 20);
    CHECK(staged > 20);
}

TEST_CASE("layers with few parameters are replicated, a layer of parameters is a stage of its own") {
    sp::cost_graph g;
    g.name = "convolutions and a large layer";
    for (int v = 0; v < 8; ++v) {
        g.nodes.push_back({"n" + std::to_string(v), {{1'000'000, 2'000'000}}, 1000, 1000, 0, -1});
        if (v > 0) {
            g.edges.push_back({v - 1, v, 1000});
        }
    }
    g.nodes.back().parameter_bytes = 500'000'000;
    const sp::pipedream_plan plan = sp::plan_pipedream(g, {.machines = 8, .bytes_per_second = 1e9});
    CHECK(plan.replicas.back() == 1); // the last layer takes as long alone as the others on seven machines together may
    CHECK(std::count(plan.stage.begin(), plan.stage.end(), plan.stage.back()) == 1);
    CHECK(plan.seconds == doctest::Approx(0.003));
    CHECK(plan.data_parallel > 0.1);
    CHECK(test_support::contains(
        test_support::message_of([&] { (void)sp::plan_pipedream(g, {.machines = 0, .bytes_per_second = 1}); }),
        "give 1 to 1024"));
}
