// SPDX-License-Identifier: Apache-2.0
// What Placeto learns, that it learns the same every time, and that it goes on where it stopped.
#ifdef TESSERA_TEST_HOST

#include "tessera/learned/placeto.hpp"
#include "io/temporary_folder.hpp"
#include "learned/two_kinds.hpp"
#include "support/refusal.hpp"
#include "tessera/host.hpp"
#include "tessera/io/files/checkpoint.hpp"
#include "tessera/search/placement/metropolis.hpp"

#include <doctest/doctest.h>

namespace {

using namespace learned_test;
using test_support::message_of;
namespace ts = tessera;
namespace tl = tessera::learned;
namespace sp = tessera::search::placement;

constexpr tl::placeto_shape shape{.nodes = 32, .edges = 64, .devices = 2, .width = 8, .rounds = 2};
using policy_type = tl::placeto<shape>;

/// Mean cost of what trials without learning end with.
double tried(policy_type& policy, int graph, int trials) {
    double sum = 0;
    for (int k = 0; k < trials; ++k) {
        const sp::found f = policy.place(graph, {.seed = static_cast<std::uint64_t>(100 + k)});
        sum += policy.at(graph).cost(f, 2) / trials;
    }
    return sum;
}

struct placeto_mean {
    double sum = 0;
    int count = 0;
    void add(double x) {
        sum += x;
        ++count;
    }
    double value() const { return sum / count; }
};

/// Layer `op` of the policy as it is in double: y = x W^T + b, with the weights as they are stored.
struct dense {
    std::vector<float> weight;
    std::vector<float> bias;
    std::vector<double> operator()(const std::vector<double>& x, bool relu) const {
        std::vector<double> y;
        for (std::size_t o = 0; o < bias.size(); ++o) {
            double sum = static_cast<double>(bias[o]);
            for (std::size_t i = 0; i < x.size(); ++i) {
                sum += static_cast<double>(weight[o * x.size() + i]) * x[i];
            }
            y.push_back(relu ? std::max(0.0, sum) : sum);
        }
        return y;
    }
};

/// The policy in plain loops over a graph's edges, masks from its reaches; layers in the order in which the network
/// names them.
std::vector<double> by_hand(policy_type& policy, int graph, const tl::placement_state& s) {
    auto& trained = policy.trained();
    std::vector<dense> layers;
    const ts::graph_view g = trained.graph();
    std::vector<char> seen(ts::to_size(g.parameter_count), 0);
    for (int op = 0; op < g.op_count; ++op) {
        const auto& own = g.ops[op].parameters;
        if (own.size() == 2 && seen[ts::to_size(own[0])] == 0) {
            seen[ts::to_size(own[0])] = 1;
            layers.push_back({trained.values().parameter(own[0]), trained.values().parameter(own[1])});
        }
    }
    const tl::group_graph& x = policy.at(graph).seen;
    const auto n = ts::to_size(x.count());
    const auto most = [](const std::vector<double>& all) {
        return std::max(1.0, *std::max_element(all.begin(), all.end()));
    };
    std::vector<std::vector<double>> start(n);
    for (std::size_t v = 0; v < n; ++v) {
        std::vector<double> f{x.work[v] / most(x.work), x.output_bytes[v] / most(x.output_bytes),
                              x.memory_bytes[v] / most(x.memory_bytes), s.current == static_cast<int>(v) ? 1.0 : 0.0,
                              static_cast<double>(s.done[v])};
        for (int d = 0; d < shape.devices; ++d) {
            f.push_back(s.device[v] == d ? 1 : 0);
        }
        start[v] = layers[2](layers[1](layers[0](f, true), true), false);
    }
    const auto add = [](std::vector<double>& to, const std::vector<double>& what) {
        for (std::size_t i = 0; i < to.size(); ++i) {
            to[i] += what[i];
        }
    };
    const auto rounds = [&](bool down, std::size_t first) {
        std::vector<std::vector<double>> now = start;
        for (int r = 0; r < shape.rounds; ++r) {
            std::vector<std::vector<double>> next = start;
            for (std::size_t v = 0; v < n; ++v) {
                std::vector<double> sum(ts::to_size(shape.width), 0);
                bool any = false;
                for (const tl::group_edge& e : x.edges) {
                    const int here = down ? e.to : e.from;
                    if (here == static_cast<int>(v)) {
                        any = true;
                        const auto other = ts::to_size(down ? e.from : e.to);
                        add(sum, layers[first + 1](layers[first](now[other], true), true));
                    }
                }
                if (any) {
                    add(next[v], layers[first + 3](layers[first + 2](sum, true), true));
                }
            }
            now = next;
        }
        return now;
    };
    const auto down = rounds(true, 3);
    const auto up = rounds(false, 7);
    std::vector<std::vector<double>> both(n);
    for (std::size_t v = 0; v < n; ++v) {
        both[v] = down[v];
        both[v].insert(both[v].end(), up[v].begin(), up[v].end());
    }
    std::vector<double> context = both[ts::to_size(s.current)];
    for (std::size_t who = 0; who < 3; ++who) {
        std::vector<double> sum(both[0].size(), 0);
        for (int v = 0; v < x.count(); ++v) {
            const bool above = x.is_ancestor(v, s.current);
            const bool below = x.is_ancestor(s.current, v);
            if (v != s.current && (who == 0 ? above : who == 1 ? below : !above && !below)) {
                add(sum, layers[12 + 4 * who](layers[11 + 4 * who](both[ts::to_size(v)], true), true));
            }
        }
        const auto pooled = layers[14 + 4 * who](layers[13 + 4 * who](sum, true), true);
        context.insert(context.end(), pooled.begin(), pooled.end());
    }
    return layers[25](layers[24](layers[23](context, true), true), false);
}

} // namespace

TEST_CASE("Placeto's messages, pooling and head equal plain loops in double, for every current group") {
    const sp::cost_graph graph = two_kinds(4);
    const ts::cluster on = two_devices();
    policy_type policy({.episodes = 2, .seed = 3});
    const int number = policy.add(graph, on);
    ts::search::random_numbers pick{7};
    for (int again = 0; again < 2; ++again) { // as it begins, and with weights that it has learned
        tl::placement_state s = tl::first_state(policy.at(number).at_random(pick));
        for (s.current = 0; s.current < policy.at(number).groups.count; ++s.current) {
            const std::vector<float> logits = policy.logits(number, s);
            const std::vector<double> expected = by_hand(policy, number, s);
            for (std::size_t d = 0; d < expected.size(); ++d) {
                CHECK(static_cast<double>(logits[d]) == doctest::Approx(expected[d]).epsilon(1e-4));
            }
            s.done[ts::to_size(s.current)] = 1;
        }
        policy.train({number}, 3);
    }
}

TEST_CASE("padding changes no logits, nor do other graphs in the batch") {
    const sp::cost_graph graph = two_kinds(4);
    const ts::cluster on = two_devices();
    constexpr tl::placeto_shape wide{.nodes = 50, .edges = 90, .devices = 2, .width = 8, .rounds = 2};
    policy_type policy({.episodes = 2, .seed = 3});
    tl::placeto<wide> padded({.episodes = 3, .seed = 4});
    const int number = policy.add(graph, on);
    const int same = padded.add(graph, on);
    padded.take_weights(policy);
    tl::placement_state s = tl::first_state(std::vector<int>(ts::to_size(policy.at(number).groups.count), 1));
    s.current = 5;
    const auto a = policy.logits(number, s);
    const auto b = padded.logits(same, s);
    for (std::size_t d = 0; d < a.size(); ++d) {
        CHECK(a[d] == doctest::Approx(b[d]).epsilon(1e-5));
    }
}

TEST_CASE(
    "a trained policy beats what it was, random search with as many prices, and itself where edges are shuffled") {
    const sp::cost_graph graph = two_kinds(4);
    const ts::cluster on = two_devices();
    sp::evaluator e(graph, on);
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        policy_type policy(
            {.learning_rate = 5e-3, .last_rate = 5e-3, .entropy = 0.2, .entropy_updates = 100, .seed = seed});
        const int number = policy.add(graph, on);
        const double before = tried(policy, number, 8);
        placeto_mean first;
        placeto_mean last;
        for (int i = 0; i < 100; ++i) {
            (i < 50 ? first : last).add(policy.update(number).last_cost);
        }
        const double after = tried(policy, number, 8);
        CHECK(after < 0.8 * before);
        CHECK(last.value() < first.value());
        const sp::found& best = policy.best(number);
        CHECK(best.step == e.priced(best.where).step);
        CHECK(best.step <= sp::at_random(e, best.evaluations, seed).step);
        const sp::cost_graph shuffled = with_edges_shuffled(graph, seed);
        const sp::evaluator other(shuffled, on);
        policy.see(number, tl::group_graph_of(other, sp::required_groups(shuffled, other.order())));
        const double blind = tried(policy, number, 8);
        CHECK(after < blind);
        MESSAGE("cost " << before << " before, " << after << " after, " << blind << " with shuffled edges");
    }
}

TEST_CASE("the same options learn the same, bit for bit, and a training goes on from its checkpoint") {
    const sp::cost_graph graph = two_kinds(3);
    const sp::cost_graph other = two_kinds(4);
    const ts::cluster on = two_devices();
    for (const bool all_actions : {false, true}) {
        const tl::placeto_options o{.episodes = 4, .all_actions = all_actions, .seed = 5};
        const std::vector<int> both{0, 1};
        policy_type whole(o);
        policy_type again(o);
        policy_type resumed(o);
        for (policy_type* p : {&whole, &again, &resumed}) {
            p->add(graph, on);
            p->add(other, on);
        }
        whole.train(both, 6);
        again.train(both, 3);
        const test::temporary_folder folder;
        ts::io::save_checkpoint(again.trained(), folder.path() + "/policy");
        ts::io::load_checkpoint(resumed.trained(), folder.path() + "/policy");
        resumed.resume(tl::placeto_progress_of(tl::to_text(again.progress())));
        again.train(both, 3);
        resumed.train(both, 3);
        for (const int number : both) {
            tl::placement_state s = tl::first_state(std::vector<int>(ts::to_size(whole.at(number).groups.count), 0));
            CHECK(whole.logits(number, s) == again.logits(number, s));
            CHECK(whole.logits(number, s) == resumed.logits(number, s));
            CHECK(whole.best(number).where == resumed.best(number).where);
            CHECK(whole.best(number).evaluations == resumed.best(number).evaluations);
        }
        CHECK(tl::to_text(whole.progress()) == tl::to_text(resumed.progress()));
    }
}

TEST_CASE("returns: rewards of every step or of the last alone, discounted") {
    const std::vector<double> costs{5, 3, 4, 1};
    const auto now = tl::returns_of(costs, tl::placeto_rewards::immediate, 1);
    CHECK(now == std::vector<double>{4, 2, 3}); // what is left to gain
    CHECK(tl::returns_of(costs, tl::placeto_rewards::terminal, 1) == std::vector<double>{-1, -1, -1});
    CHECK(tl::returns_of(costs, tl::placeto_rewards::terminal, 0.5) == std::vector<double>{-0.25, -0.5, -1});
    CHECK(tl::returns_of(costs, tl::placeto_rewards::immediate, 0) == std::vector<double>{2, -1, 3});
}

TEST_CASE("what does not fit a Placeto policy is refused in words") {
    const ts::cluster on = two_devices();
    const sp::cost_graph graph = two_kinds(2);
    const sp::cost_graph large = two_kinds(13);
    policy_type policy;
    CHECK(message_of([&] { policy.update(0); }) == "tessera: Placeto: there is no graph 0; 0 were added");
    CHECK(message_of([&] { policy.add(large, on); }).find("32") != std::string::npos);
    policy.add(graph, on);
    CHECK(message_of([&] { policy.train({}, 1); }).find("no graph to train on") != std::string::npos);
    CHECK(message_of([&] { policy.best_of(0, 0); }).find("the best of 0 placements") != std::string::npos);
    CHECK(message_of([&] { policy.place(0, {.passes = 0}); }).find("a trial of 0 passes") != std::string::npos);
    CHECK(message_of([&] { policy.resume({}); }).find("the progress of 0 graphs, and 1 were added") !=
          std::string::npos);
    CHECK(message_of([] { policy_type({.discount = 2}); }).find("a discount of 2") != std::string::npos);
    CHECK(message_of([] { policy_type({.episodes = 0}); }).find("0 episodes") != std::string::npos);
    CHECK(message_of([] { tl::placeto_progress_of("tessera-placeto 2 0 0 0"); }).find("its first line is another") !=
          std::string::npos);
    CHECK(message_of([] { tl::placeto_progress_of("tessera-placeto 1 0 0 1\n0 0 0 3 1 1"); }).find("ends early") !=
          std::string::npos);
}

#endif
